import builtins
import json
import os
import subprocess
import sys

import pytest

from hindsight.train.sinks import JsonLines, Wandb, both
from hindsight.types import ConfigError


def test_rows_are_appended_and_a_resumed_run_drops_what_came_after_its_checkpoint(tmp_path):
    path = tmp_path / "deep" / "metrics.jsonl"
    first = JsonLines(path)
    for epoch in range(4):
        first({"epoch": epoch, "loss": 1.0 / (epoch + 1)})
    again = JsonLines(path)
    again({"epoch": 2, "loss": 9.0})
    again({"epoch": 3, "loss": 8.0})
    assert [json.loads(line)["loss"] for line in path.read_text().splitlines()] == [1.0, 0.5, 9.0, 8.0]
    JsonLines(path)({"epoch": 0, "loss": 7.0})
    assert path.read_text() == '{"epoch": 0, "loss": 7.0}\n'


@pytest.mark.parametrize("tail", ['{"epoch": 1, "lo', "{}\n", '{"epoch": null}\n', "\n", '[3]\n{"epoch": 1}\n'])
def test_a_torn_tail_is_cut_off(tmp_path, tail):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"epoch": 0}\n' + tail)
    JsonLines(path)({"epoch": 1, "loss": 2.0})
    assert path.read_text() == '{"epoch": 0}\n{"epoch": 1, "loss": 2.0}\n'


def test_both_get_every_row_in_order():
    seen = []
    both(lambda row: seen.append(("a", row["epoch"])), lambda row: seen.append(("b", row["epoch"])))({"epoch": 0})
    assert seen == [("a", 0), ("b", 0)]


def test_without_wandb_the_cure_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def absent(name, *rest, **more):
        if name == "wandb":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ConfigError, match=r"pip install hindsight-scorer\[wandb\]"):
        Wandb(tmp_path, "run", {})


OFFLINE = """
import sys
from pathlib import Path
from hindsight.train.sinks import Wandb
assert "wandb" not in sys.modules
sink = Wandb(Path(sys.argv[1]), "a run", {"seed": 0, "columns": ["bm25"]})
for epoch in range(3):
    sink({"epoch": epoch, "loss": 1.0})
sink.close()
"""


def test_an_offline_run_is_written_without_a_login_or_a_word(tmp_path):
    pytest.importorskip("wandb")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WANDB")}
    command = [sys.executable, "-c", OFFLINE, str(tmp_path)]
    run = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr
    assert run.stdout + run.stderr == ""
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    assert next(folder.glob("*.wandb")).stat().st_size > 0
