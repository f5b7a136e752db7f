import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_writer_that_is_killed_loses_nothing_that_it_has_acknowledged(tmp_path):
    command = [sys.executable, "tests/memory/kills.py", str(tmp_path), "50", "0"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["lost"], found["problems"]) == ([], [])
    assert found["acknowledged"] > 50


def test_several_processes_write_one_file(tmp_path):
    script = """
import sys
from hindsight.memory.store import open_store
from tests.memory.records import record, turn
me = int(sys.argv[2])
with open_store(sys.argv[1]) as store:
    for step in range(40):
        store.user("shared").append([turn(me * 100 + step)])
        store.user("shared").write([record("shared", f"{me} {step}", me * 100 + step)])
        store.user(f"own {me}").write([record(f"own {me}", f"{step}", step)])
"""
    path = str(tmp_path / "store.db")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", script, path, str(me)], cwd=ROOT, env=env) for me in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    from hindsight.memory.doctor import examine
    from hindsight.memory.store import open_store

    with open_store(path) as store:
        assert len(store.user("shared").records()) == 120
        assert store.user("shared").since().change == 240  # none of them overwrote another's number
        assert [len(store.user(f"own {me}").records()) for me in range(3)] == [40, 40, 40]
    assert [p for p in examine(Path(path)).problems if not p.startswith("user own")] == []


def test_several_processes_hold_one_users_memory_open(tmp_path):
    script = """
import sys
from hindsight.encoder.hashing import HashingEncoder
from hindsight.runtime.memory import Settings
from hindsight.runtime.open import open_memory
with open_memory(sys.argv[1], "ann", encoder=HashingEncoder(16), settings=Settings("bionic")) as memory:
    for step in range(25):
        memory.record_event(f"My door {sys.argv[2]} has number {step}.")
        memory.recall("door")
    memory.consolidate()
"""
    path = str(tmp_path / "store.db")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", script, path, f"D{me}"], cwd=ROOT, env=env) for me in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    from hindsight.memory.doctor import examine
    from hindsight.memory.store import open_store

    with open_store(path) as store:
        assert [turn.position for turn in store.user("ann").events()] == list(range(75))
    assert examine(Path(path)).problems == ()
