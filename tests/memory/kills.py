"""python tests/memory/kills.py FOLDER KILLS SEED: a writer is killed at random moments; what it had acknowledged must be there.

Run by test_kills.py in a process of its own: it forks, which is safe only where no threads run. Prints one JSON line.
"""

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

from hindsight.memory.doctor import examine
from hindsight.memory.store import open_store
from tests.memory.records import record, turn


def write(path: Path, round_: int, out: int) -> None:
    """Appends, writes, supersedes, edits and erases, and says so after each that has returned."""
    with open_store(path) as store:
        own = store.user("ann")
        at = own.next_position()
        for step in range(10_000):
            text = f"round {round_} step {step} " + "x" * (step * 37 % 3000)
            one = record("ann", text, at + step)
            own.append([turn(at + step, text)])
            own.write([one])
            _say(out, "there", one.memory_id)
            if step % 5 == 1:
                own.edit(one.memory_id, f"edited {text}")
                _say(out, "edited", one.memory_id)
            if step % 7 == 2:
                own.supersede([one.memory_id], record("ann", f"new {text}", at + step))
                _say(out, "superseded", one.memory_id)
            if step % 11 == 3:
                own.erase([one.memory_id])
                _say(out, "erased", one.memory_id)


def _say(out: int, what: str, memory_id: str) -> None:
    os.write(out, f"{what} {memory_id}\n".encode())


def kill(path: Path, round_: int, draw: random.Random) -> list[str]:
    """What the writer acknowledged before it was killed."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        write(path, round_, send)
        os._exit(1)  # it was to be killed before
    os.close(send)
    select.select([receive], [], [], 30)
    time.sleep(draw.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(receive) as stream:
        return [line.rstrip("\n") for line in stream if line.endswith("\n")]


def main() -> None:
    path, kills, draw = Path(sys.argv[1]) / "store.db", int(sys.argv[2]), random.Random(int(sys.argv[3]))
    open_store(path).close()
    told: dict[str, set[str]] = {}
    lost: list[str] = []
    problems: list[str] = []
    for round_ in range(kills):
        for line in kill(path, round_, draw):
            what, memory_id = line.split()
            told.setdefault(memory_id, set()).add(what)
        problems += examine(path).problems
        with open_store(path) as store:
            known = {one.memory_id: one for one in store.user("ann").records("active", "superseded", "archived")}
        for memory_id, said in told.items():
            one = known.get(memory_id)
            if "erased" in said:
                right = one is None
            elif one is None:  # the erasing had begun, and was not acknowledged
                right = "edited" not in said or "superseded" not in said
            else:
                right = ("edited" not in said or one.version == 2) and (
                    "superseded" not in said or one.status == "superseded"
                )
            lost += [] if right else [f"{memory_id} {sorted(said)}"]
    print(json.dumps({"kills": kills, "acknowledged": sum(map(len, told.values())), "lost": lost, "problems": problems}))


if __name__ == "__main__":
    main()
