"""The bundled logs: reproducible to the byte, gold that holds, held-out people apart, and content that is varied enough."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "data" / "bundled"
sys.path.insert(0, str(ROOT))

from data.generator import script  # noqa: E402
from data.generator.events import SHORTEST, Teller  # noqa: E402
from data.generator.persona import personas  # noqa: E402
from data.generator.threads import Event  # noqa: E402
from data.generator.writer import Part, Shared, Writer  # noqa: E402
from hindsight.io import sha256_of  # noqa: E402

KINDS = ("support", "assistant", "tutoring", "coding")
LANGUAGES = ("en", "zh")
FILES = ("train.jsonl", "test.jsonl", "gold.jsonl", "told.jsonl", "split.json")
Records = list[dict[str, Any]]


def read(name: str) -> Records:
    return [json.loads(line) for line in (BUNDLED / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def logs() -> Records:
    return read("train.jsonl") + read("test.jsonl")


@pytest.fixture(scope="module")
def gold() -> Records:
    return read("gold.jsonl")


@pytest.fixture(scope="module")
def split() -> dict[str, Any]:
    return json.loads((BUNDLED / "split.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def turns(logs: Records) -> dict[str, list[dict[str, Any]]]:
    return {session["dialogue_id"]: session["turns"] for session in logs}


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "data.generator", "--to", str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (BUNDLED / name).read_bytes(), f"{name}: run python -m data.generator"


def test_another_seed_makes_other_people_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "data.generator", "--seed", "7"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 2  # never over the bundled ones
    subprocess.run([*command, "--to", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    assert all((tmp_path / name).read_bytes() != (BUNDLED / name).read_bytes() for name in FILES)


def test_told_is_every_answer_where_gold_says_it_was_first_told(gold: Records) -> None:
    first = {(row["user_id"], row["session"], row["turn"], row["value"]) for row in read("told.jsonl")}
    for row in gold:
        for value in [] if row["type"] == "temporal" else row["answers"]:
            assert any((row["user_id"], *place, value) in first for place in row["relevant"]), row


def test_readme_names_the_hashes() -> None:
    text = (ROOT / "data" / "README.md").read_text("utf-8")
    assert all(sha256_of(BUNDLED / name) in text for name in FILES)


def test_size(logs: Records, turns: dict[str, Records]) -> None:
    assert sum((BUNDLED / name).stat().st_size for name in FILES[:2]) < 4_000_000
    assert 550 <= len(logs) <= 720 and 8_000 <= sum(map(len, turns.values())) <= 11_000
    assert all(8 <= len(session) <= 24 for session in turns.values())
    per_user = Counter(session["user_id"] for session in logs)
    assert len(per_user) == 60 and all(8 <= n <= 12 for n in per_user.values())


def test_native_format(logs: Records) -> None:
    calls: list[dict[str, Any]] = []
    for session in logs:
        assert set(session) == {"dialogue_id", "user_id", "turns"}
        assert [turn["role"] for turn in session["turns"]] == ["user", "assistant"] * (len(session["turns"]) // 2)
        times = [turn["time"] for turn in session["turns"]]
        assert times == sorted(times)
        for turn in session["turns"]:
            assert set(turn) <= {"role", "text", "time", "calls"} and turn["text"].strip()
            assert not re.search(r"[{}\x01\x02]|\[[^\]]*\|", turn["text"].replace("`", "")), turn["text"]
            calls += turn.get("calls", [])
    assert all(set(call) == {"call_id", "name", "arguments", "result", "outcome"} for call in calls)
    assert len({session["dialogue_id"] for session in logs}) == len(logs)


def test_gold_turns_hold_the_values_and_come_before(gold: Records, turns: dict[str, Records], logs: Records) -> None:
    order = {session["dialogue_id"]: (session["user_id"], session["turns"][0]["time"]) for session in logs}
    for row in gold:
        assert turns[row["session"]][row["turn"]]["text"] == row["question"]
        assert turns[row["session"]][row["turn"]]["role"] == "user"
        held = [turns[session][turn]["text"].lower() for session, turn in row["relevant"]]
        values = [answer.lower() for answer in row["answers"] if not re.fullmatch(r"\d{4}-\d\d-\d\d", answer)]
        assert all(any(value in text for text in held) for value in values), row
        assert all(any(value in text for value in values) for text in held), row
        for session, turn in row["relevant"]:
            assert order[session][0] == row["user_id"] == order[row["session"]][0]
            assert (order[session][1], turn) < (order[row["session"]][1], row["turn"])
        assert bool(row["relevant"]) == (row["type"] != "abstain") == bool(row["answers"])


def test_act_needs_what_was_not_just_said(gold: Records, turns: dict[str, Records]) -> None:
    for row in gold:
        if row["regime"] != "act":
            continue
        session, at = turns[row["session"]], row["turn"]
        recent = " ".join(turn["text"] for turn in session[max(0, at - 2) : at + 1]).lower()
        reply = session[at + 1]
        done = " ".join([reply["text"], *(str(v) for c in reply.get("calls", ()) for v in c["arguments"].values())]).lower()
        assert not any(value.lower() in recent for value in row["answers"]), row
        assert all(value.lower() in done for value in row["answers"]), row
        assert row["type"] == "reply" or reply["calls"]


@pytest.mark.parametrize("what", ["update", "fix"])
def test_gold_of_a_changed_value_is_the_newest_turn(what: str) -> None:
    fact = next(fact for fact in script.facts("en") if fact.get(what) and fact.get("act"))
    writer = Writer(personas(1)[-1], Shared(), random.Random(0))
    writer.begin("s1", date(2024, 1, 1))
    teller = Teller(writer)
    for event in ("tell", what):
        said, reply = teller.parts(Event(event, fact))
        writer.user(said)
        writer.assistant(reply)
    old, new = writer.values[f"{fact.name}.old"], writer.values[f"{fact.name}.value"]
    for _ in range(SHORTEST):
        writer.user(Part(["Hm, let me think."]))
        writer.assistant(Part(["Of course."]))
    while len(writer.gold) < 2:  # now and then the assistant errs and is corrected, which is no gold
        teller.exchange(Event("ask", fact))
        writer.user(Part(["Hm, let me think."]))
        writer.assistant(Part(["Of course."]))
        teller.exchange(Event("act", fact))
    assert old != new
    assert all(row["relevant"] == [["s1", 2]] and new in row["answers"] and old not in row["answers"] for row in writer.gold)
    assert {row["type"] for row in writer.gold if row["regime"] == "ask"} <= {"update" if what == "update" else "retraction"}


def test_held_out_people(split: dict[str, Any], gold: Records, logs: Records) -> None:
    train, test = set(split["train"]), set(split["test"])
    assert not train & test and train | test == {session["user_id"] for session in logs} and len(test) == 20
    assert all((row["split"] == "test") == (row["user_id"] in test) for row in gold)
    kinds = Counter(split["users"][user]["kind"] for user in test)
    assert set(kinds.values()) == {5} and set(kinds) == set(KINDS)
    assert Counter(split["users"][user]["language"] for user in test) == {"en": 15, "zh": 5}


def test_logs_say_nothing_of_gold(gold: Records, logs: Records) -> None:
    text = json.dumps(logs)
    assert not any(word in text for word in ("query_id", '"relevant"', '"split"', '"regime"', "lookalike", "abstain"))
    assert not any(f'"{row["query_id"]}"' in text for row in gold)
    assert len({row["query_id"] for row in gold}) == len(gold)


@pytest.mark.parametrize("which", ["train", "test"])
def test_every_type_kind_and_language(gold: Records, split: dict[str, Any], which: str) -> None:
    rows = [row for row in gold if row["split"] == which]
    types = Counter((row["regime"], row["type"]) for row in rows)
    least = {"single": 40, "update": 20, "multi": 10, "retraction": 8, "temporal": 12, "preference": 10, "assistant-said": 40,
             "lookalike": 20, "abstain": 20}  # fmt: skip
    assert all(types["ask", name] >= n for name, n in least.items()), types
    assert types["act", "call"] >= 100 and types["act", "reply"] >= 40, types
    about = Counter((split["users"][row["user_id"]]["kind"], row["regime"]) for row in rows)
    assert all(about[kind, regime] >= 40 for kind in KINDS for regime in ("ask", "act")), about
    spoken = Counter((split["users"][row["user_id"]]["language"], row["regime"]) for row in rows)
    assert all(spoken[language, regime] >= 40 for language in LANGUAGES for regime in ("ask", "act")), spoken


def test_failures_and_corrections(logs: Records) -> None:
    calls = [call for session in logs for turn in session["turns"] for call in turn.get("calls", ())]
    outcomes = Counter(call["outcome"] for call in calls)
    assert outcomes["failure"] >= 50 and outcomes["success"] >= 400
    said = [turn["text"] for session in logs for turn in session["turns"] if turn["role"] == "assistant"]
    sorry = [text.rstrip(".。：:") for language in LANGUAGES for text in script.lists(language, "apologies")]
    assert sum(any(text.startswith(start) for start in sorry) for text in said) >= 8


def test_few_users_say_the_same(logs: Records) -> None:
    said = Counter(turn["text"] for session in logs for turn in session["turns"] if turn["role"] == "user")
    assert sum(n - 1 for n in said.values()) / said.total() < 0.05


def test_both_regimes_open_alike(gold: Records) -> None:
    """No greeting, lead or reaction gives the regime away: the first words of asks and acts are shared."""
    first = {regime: Counter(row["question"].split()[0].lower() for row in gold if row["regime"] == regime and row["question"].isascii())
             for regime in ("ask", "act")}  # fmt: skip
    shared = set(first["ask"]) & set(first["act"])
    assert sum(first["act"][word] for word in shared) / first["act"].total() > 0.5


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_fact_has_many_wordings(language: str) -> None:
    for fact in script.facts(language):
        assert len(fact.get("tell")) >= 5 and len(fact.get("ask")) >= 4, fact.name
        assert len(fact.get("near")) == len(fact.get("tell")), fact.name
        assert len(set(fact.get("ask")) | set(fact.get("near"))) >= 9, fact.name
        for key in ("update", "fix"):
            assert len(fact.get(key)) == len(fact.get(f"{key}_near")), fact.name
        values = fact.get("value")
        assert len(values) >= 7 or "".join(values).startswith(("~", "date", "ago")), fact.name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_plots_use_only_what_was_surely_told(language: str, kind: str) -> None:
    """A slot that an ask or act needs stands in every wording of some earlier line that is never left out."""
    for plot in script.plots(language, kind):
        told: set[str] = set()
        for session in plot.sessions:
            optional = False
            for line in session:
                optional = line.optional if line.role == "u" else optional
                assert set(line.uses) <= told, (plot.name, line.texts[0], set(line.uses) - told)
                if not optional:
                    told |= set.intersection(*(set(re.findall(r"\{(\w+)\}", text)) for text in line.texts))
