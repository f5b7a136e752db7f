"""The agents' logs: reproducible to the byte, gold that holds, and train and test rounds that share no wording."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from hindsight.io import sha256_of

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "agent_tasks"
FILES = ("train.jsonl", "test.jsonl", "gold.jsonl")
Records = list[dict[str, Any]]


def read(name: str) -> Records:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def gold() -> Records:
    return read("gold.jsonl")


@pytest.fixture(scope="module")
def streams() -> dict[str, list[tuple[tuple[str, int], dict[str, Any]]]]:
    """Of each round its turns in order, with their places."""
    found: dict[str, list[tuple[tuple[str, int], dict[str, Any]]]] = {}
    for session in read("train.jsonl") + read("test.jsonl"):
        own = [((session["dialogue_id"], place), turn) for place, turn in enumerate(session["turns"])]
        found.setdefault(session["user_id"], []).extend(own)
    return found


def words_of(turn: dict[str, Any]) -> str:
    return " ".join([turn["text"], *(f"{call['arguments']} {call['result']}" for call in turn.get("calls", []))])


def says(turn: dict[str, Any], value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", words_of(turn)) is not None


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "data.agent_tasks", "--to", str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), f"{name}: run python -m data.agent_tasks"


def test_readme_names_the_hashes() -> None:
    readme = (ROOT / "data" / "README.md").read_text("utf-8")
    assert [name for name in FILES if f"`{sha256_of(FOLDER / name)}`" not in readme] == []


def test_twenty_rounds_a_task_and_split(gold: Records) -> None:
    rounds = Counter((row["split"], row["user_id"].split("-")[1]) for row in {row["user_id"]: row for row in gold}.values())
    assert rounds == dict.fromkeys([(s, t) for s in ("train", "test") for t in ("report", "similar", "errors")], 20)
    each = Counter((row["split"], row["type"].split(":")[0]) for row in gold if row["relevant"])
    assert each["test", "report"] == 100 and each["test", "similar"] == each["test", "errors"] == 40


def test_what_is_needed_stands_in_gold_and_nowhere_else_before(gold: Records, streams: Any) -> None:
    for row in gold:
        stream = streams[row["user_id"]]
        at = next(n for n, (place, _) in enumerate(stream) if place == (row["session"], row["turn"]))
        assert stream[at][1]["role"] == "user" and stream[at + 1][1]["role"] == "assistant"
        relevant = [tuple(place) for place in row["relevant"]]
        before_the_last_three = [one for one, _ in stream[: at - 2]]
        assert all(place in before_the_last_three for place in relevant), row
        for value in row["answers"]:
            carriers = [place for place, turn in stream[: at + 1] if says(turn, value)]
            assert carriers and set(carriers) <= set(relevant), (row, value, carriers)


def test_each_gold_turn_carries_something_needed(gold: Records, streams: Any) -> None:
    for row in gold:
        turns = dict(streams[row["user_id"]])
        for place in map(tuple, row["relevant"]):
            failed = any(call["outcome"] == "failure" for call in turns[place].get("calls", []))
            assert any(says(turns[place], value) for value in row["answers"]) or (
                failed and row["type"] == "errors: failed call"
            )


def test_a_figure_fetched_anew_replaces_the_first(gold: Records, streams: Any) -> None:
    rows = [row for row in gold if row["type"] == "report: renewed"]
    assert len(rows) == 40
    for row in rows:
        stream = streams[row["user_id"]]
        (place,) = map(tuple, row["relevant"])
        (call,) = dict(stream)[place]["calls"]
        same = [p for p, turn in stream for other in turn.get("calls", []) if other["arguments"] == call["arguments"]]
        assert len(same) == 2 and same[1] == place


def test_train_and_test_rounds_share_no_words_list() -> None:
    def texts(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(chain.from_iterable(map(texts, value.values())))
        return set(chain.from_iterable(map(texts, value))) if isinstance(value, list) else {str(value)}

    train, test = (json.loads((FOLDER / "content" / f"{name}.json").read_text("utf-8")) for name in ("train", "test"))
    shared = {one for one in texts(train) & texts(test) if " " in one or "." in one}
    assert shared == set()
    tools = [
        {call["name"] for s in read(f"{name}.jsonl") for t in s["turns"] for call in t.get("calls", [])}
        for name in ("train", "test")
    ]
    assert not tools[0] & tools[1]
    said = [
        {turn["text"] for s in read(f"{name}.jsonl") for turn in s["turns"] if len(turn["text"].split()) > 2}
        for name in ("train", "test")
    ]
    assert not said[0] & said[1]


def test_new_projects_are_told_in_other_words(gold: Records, streams: Any) -> None:
    """The lure names another project's client; the content words of the new request are not those of the old one."""
    from hindsight.text import terms

    shares = []
    for row in gold:
        if row["type"] == "similar: approach":
            stream = streams[row["user_id"]]
            (place,) = map(tuple, row["relevant"])
            opening = next(turn for one, turn in stream if one == (place[0], 2))
            asked = set(terms(row["question"]))
            shares.append(len(asked & set(terms(opening["text"]))) / len(asked))
    assert len(shares) == 40 and sum(shares) / len(shares) < 0.1
