"""The suite fact_recall's data: same bytes again, worlds apart, and gold that holds at the distance that it names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "recall"
sys.path.insert(0, str(ROOT))

from data.recall import DISTANCES, ROUNDS  # noqa: E402
from data.recall.content import World, read  # noqa: E402
from hindsight.io import sha256_of  # noqa: E402

FILES = ("train.jsonl", "test.jsonl", "gold.jsonl")
TYPES = set("single update negation lookalike other_user multi temporal preference assistant_said abstain".split())
Rows = list[dict[str, Any]]


def lines(name: str) -> Rows:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def gold() -> Rows:
    return lines("gold.jsonl")


@pytest.fixture(scope="module")
def streams() -> dict[str, Rows]:
    """user -> turns in order, each with its place."""
    found: dict[str, Rows] = defaultdict(list)
    for session in lines("train.jsonl") + lines("test.jsonl"):
        for number, turn in enumerate(session["turns"]):
            found[session["user_id"]].append(turn | {"place": (session["dialogue_id"], number)})
    return found


@pytest.fixture(scope="module")
def places(streams: dict[str, Rows]) -> dict[tuple[str, int], int]:
    return {turn["place"]: at for turns in streams.values() for at, turn in enumerate(turns)}


def test_same_program_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "data.recall", "--to", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), f"{name}: run python -m data.recall"


def test_readme_names_the_hashes_of_data_and_content() -> None:
    text = (ROOT / "data" / "README.md").read_text("utf-8")
    content = [f"{world}_{language}.txt" for world in ("train", "test") for language in ("en", "zh")]
    assert all(sha256_of(FOLDER / name) in text for name in (*FILES, *content))


def texts(world: World, *keys: str) -> set[str]:
    """The sentences of the given keys, each choice its first way, slots as one mark."""
    found: set[str] = set()
    for attribute in world.attributes:
        for line in (line for key in keys for line in attribute.lines.get(key, ())):
            while re.search(r"\[[^\[\]]*\]", line):
                line = re.sub(r"\[([^\[\]|]*)[^\[\]]*\]", r"\1", line)
            found.add(re.sub(r"\W+", " ", re.sub(r"\{\w+\}", "_", line)).lower().strip())
    return found


SAID = ("t", "u", "n", "o", "a", "f", "q", "nq", "oq", "b")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_worlds_share_no_wording_value_or_name(language: str) -> None:
    """Not a whole sentence, nor five words (seven characters) in a row."""
    one, two = read("train", language), read("test", language)
    assert not {a.name for a in one.attributes} & {a.name for a in two.attributes}
    values = [{v.lower() for a in world.attributes for v in a.values if v} for world in (one, two)]
    assert len(values[0]) > 80 and not values[0] & values[1]
    lists = [{text for known in world.lists.values() for text in known if text} for world in (one, two)]
    numbers = {text for text in lists[0] if text.isdecimal()}
    assert len(lists[0]) > 40 and not (lists[0] & lists[1]) - numbers
    said = [texts(world, *SAID) | {line.lower() for line in world.filler} for world in (one, two)]
    assert len(said[0]) > 250 and not said[0] & said[1]
    runs = [{run for text in texts(world, *SAID) for run in runs_of(text, language)} for world in (one, two)]
    assert not runs[0] & runs[1]


def runs_of(text: str, language: str) -> set[str]:
    units = text.split() if language == "en" else list(text.replace(" ", ""))
    length = 5 if language == "en" else 7
    return {" ".join(units[i : i + length]) for i in range(len(units) - length + 1)}


def test_size_and_form(streams: dict[str, Rows]) -> None:
    assert sum((FOLDER / name).stat().st_size for name in FILES) < 3_000_000
    assert len(streams) == 40
    for turns in streams.values():
        assert 400 <= len(turns) <= 500
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * (len(turns) // 2)
        assert [turn["time"] for turn in turns] == sorted(turn["time"] for turn in turns)
        assert not any(re.search(r"[{}\[\]|]|=>|  ", turn["text"]) or not turn["text"].strip() for turn in turns)
        said = [turn["text"] for turn in turns if turn["role"] == "user"]
        assert len(said) - len(set(said)) <= 2


def test_balance(gold: Rows) -> None:
    assert Counter((row["split"], row["round"]) for row in gold) == {
        (split, number + 1): 200 for split, rounds in ROUNDS.items() for number in range(len(rounds))
    }
    for (_, _, type_), n in Counter((row["split"], row["round"], row["type"]) for row in gold).items():
        assert n == 20 and type_ in TYPES
    cells = Counter((row["split"], row["round"], row["type"], row["distance"]) for row in gold)
    for (_, _, type_, distance), n in cells.items():
        if type_ == "other_user":
            assert n == 4 and distance in (0, *DISTANCES)
        else:
            assert (n, distance) == (20, 0) if type_ == "abstain" else n == 5 and distance in DISTANCES
    asked = Counter(row["language"] for row in gold if row["split"] == "test")
    assert asked == {"en": 460, "zh": 140}


def test_gold_stands_where_it_says_at_its_distance(gold: Rows, streams: dict[str, Rows], places: dict[Any, int]) -> None:
    for row in gold:
        at = places[row["session"], row["turn"]]
        turns, user = streams[row["user_id"]], row["user_id"]
        relevant = [places[session, turn] for session, turn in row["relevant"]]
        assert turns[at]["role"] == "user" and at >= 60
        assert all(session.startswith(user) for session, _ in row["relevant"])
        assert bool(relevant) == bool(row["answers"]) == bool(row["distance"])
        assert len(relevant) == (2 if row["type"] == "multi" else min(1, row["distance"]))
        if not relevant:
            continue
        assert all(place < at for place in relevant)
        assert abs(at - min(relevant) - row["distance"]) <= row["distance"] / 10, row
        role = "assistant" if row["type"] == "assistant_said" else "user"
        held = [turns[place]["text"].lower() for place in relevant]
        assert all(turns[place]["role"] == role for place in relevant)
        values = row["answers"][:1] if row["type"] == "temporal" else row["answers"]
        assert all(any(value.lower() in text for text in held) for value in values), row
        assert all(any(value.lower() in text for value in values) for text in held), row


def test_no_other_turn_carries_the_value(gold: Rows, streams: dict[str, Rows], places: dict[Any, int]) -> None:
    """Neither before the question nor after it, but for the echo that is marked."""
    echoes = 0
    for row in gold:
        known = {places[session, turn] for session, turn in [*row["relevant"], *row["echoes"]]}
        echoes += len(row["echoes"])
        for place, turn in enumerate(streams[row["user_id"]]):
            holding = [value for value in row["answers"] if value.lower() in turn["text"].lower()]
            assert not holding or place in known, (row["question"], holding, turn["text"])
    assert echoes > 50


def test_no_question_holds_its_answer(gold: Rows, streams: dict[str, Rows]) -> None:
    for row in gold:
        assert not any(answer.lower() in row["question"].lower() for answer in row["answers"]), row
    said = {turn["text"] for turns in streams.values() for turn in turns}
    assert not any(row["question"] in said for row in gold)


def tellings(row: dict[str, Any]) -> list[re.Pattern[str]]:
    """Patterns of every way to tell the row's attribute: of oneself, anew, or of another."""
    world = read(row["split"], row["language"])
    attribute = next(one for one in world.attributes if one.name == row["attribute"])
    found: list[re.Pattern[str]] = []
    for key in ("t", "u", "n", "o", "a"):
        for line in attribute.lines.get(key, ()):
            text = re.sub(r"\{\w+\}", "\x00", line.partition(" => ")[0])
            while re.search(r"\[[^\[\]]*\]", text):
                text = re.sub(r"\[[^\[\]]*\]", "\x00", text)
            found.append(re.compile(".*".join(re.escape(part) for part in text.split("\x00")), re.IGNORECASE))
    return found


def test_what_was_never_told_is_never_told(gold: Rows, streams: dict[str, Rows]) -> None:
    unanswered = [row for row in gold if not row["relevant"]]
    assert {row["type"] for row in unanswered} == {"abstain", "other_user"}
    for row in unanswered:
        round_ = [user for user in streams if user.startswith(f"{row['split']}-{row['round']}-")]
        told = {
            user
            for user in round_
            for pattern in tellings(row)
            if any(pattern.search(turn["text"]) for turn in streams[user])
        }
        assert row["user_id"] not in told, row
        assert bool(told) == (row["type"] == "other_user"), row


def test_of_other_user_somebody_else_told_another_value(gold: Rows, streams: dict[str, Rows]) -> None:
    for row in (row for row in gold if row["type"] == "other_user" and row["relevant"]):
        others = {
            tuple(one["answers"]) for one in gold
            if one["attribute"] == row["attribute"] and one["split"] == row["split"] and one["round"] == row["round"]
            and one["language"] == row["language"] and one["user_id"] != row["user_id"] and one["answers"]
        }  # fmt: skip
        assert others - {tuple(row["answers"])}, row


def test_updates_and_negations_follow_what_they_change(gold: Rows, streams: dict[str, Rows], places: dict[Any, int]) -> None:
    for row in (row for row in gold if row["type"] in ("update", "negation")):
        (at,) = (places[session, turn] for session, turn in row["relevant"])
        before = [turn["text"] for turn in streams[row["user_id"]][:at]]
        assert any(pattern.search(text) for pattern in tellings(row) for text in before), row


def test_logs_say_nothing_of_gold(gold: Rows) -> None:
    text = (FOLDER / "train.jsonl").read_text("utf-8") + (FOLDER / "test.jsonl").read_text("utf-8")
    assert not any(word in text for word in ("query_id", "relevant", "abstain", "lookalike", '"distance"'))
    assert len({row["query_id"] for row in gold}) == len(gold)
