"""Logs whose answer is known: one where futures use the past, one where they use nothing, and labelers with a taste."""

import json
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hindsight.audit.logs import Audit, audit_logs, mined
from hindsight.audit.look import BASELINE, LABEL, explain
from hindsight.crossfit import Recipe
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.replay import moment, replay
from hindsight.labeler.gated import Gated
from hindsight.labeler.overlap import Overlap
from hindsight.labeler.values import Values
from hindsight.logs.native import NativeReader
from hindsight.miner.turns import Turns
from hindsight.report.findings import findings
from hindsight.scorer.linear import Linear
from hindsight.train.learn import Encoding
from hindsight.train.loop import Fit
from hindsight.types import ConfigError, Count, DataError, Labelled, Use
from tests import people


def recipe(labeler):
    return Recipe(Turns(), labeler, Linear(), Fit(), Encoding(HashingEncoder(32), CacheConfig("")), 1)


def audited(tmp_path, labeler, lines=None, **settings):
    path = people.write_lines(tmp_path / "log.jsonl", people.native() if lines is None else lines)
    return audit_logs(list(NativeReader().read(path, Count())), recipe(labeler), Audit(**settings), Count())


def used(users=6):
    """Each session's call gives a value that the session before told at its end: a later session's value is told after the query."""
    said = ("Hello again.", "Welcome.", "It rains.", "Indeed.", "I slept badly.", "Sorry.", "Coffee first.", "Of course.")
    lines = []
    for user, session in ((u, s) for u in range(users) for s in range(5)):
        turns = [{"role": ("user", "assistant")[i % 2], "text": text} for i, text in enumerate(said)]
        call = [{"name": "book", "arguments": {"code": f"K{user}{session - 1}X9"}}]
        turns += [{"role": "user", "text": "Book it."}, {"role": "assistant", "text": "Booked.", "calls": call}]
        turns += [{"role": "user", "text": f"The next code is K{user}{session}X9."}, {"role": "assistant", "text": "Noted."}]
        lines.append({"dialogue_id": f"{user}-{session}", "user_id": str(user), "session": str(session), "turns": turns})
    return lines


def noise(users=8, sessions=3, turns=14, seed=0):
    """Words drawn anew each turn: no turn has anything to do with an earlier one."""
    rng = random.Random(seed)
    words = [f"{a}{b}{c}" for a in "bdfgklm" for b in ("ara", "eno", "iru") for c in "dkst"]
    return [
        {"dialogue_id": f"{user}-{session}", "user_id": str(user), "session": str(session), "turns": [
            {"role": ("user", "assistant")[i % 2], "text": " ".join(rng.sample(words, 6)) + "."} for i in range(turns)]}
        for user in range(users) for session in range(sessions)
    ]  # fmt: skip


@dataclass(frozen=True)
class Longest:
    """Credits the longest memories, whatever the future. Shows no evidence, as a labeler of somebody else's may."""

    def teach(self, known, before, future):
        length = known.past.words.view[known.take]
        rows = np.argsort(-length, kind="stable")[:3]
        uses = tuple(Use(known.query.query_id, known.past.memories[known.rows[row]].memory_id, 1.0) for row in rows)
        return Labelled(known.query, uses, "HP", quality=1.0)


def test_values_that_a_call_uses_are_told_from_another_call(tmp_path):
    found = audited(tmp_path, Values(least_pool=8), used())
    assert found["users"] == found["clusters"] == 6 and found["cluster"] == "user"
    calls = found["signals"]["call values"]
    assert calls["apart"]["mean"] == 1 and calls["stays"]["mean"] == 0
    assert found["signals"][LABEL]["with_label"] is None and calls["with_label"]["mean"] == 1
    assert found["stays"]["shuffled"]["mean"] == 0 and BASELINE in found["signals"]
    assert findings(found)[0].startswith("labels move with the future, and with the true one most: 0 % {0, 0}")
    assert any(one["credited"] and one["evidence"] for one in found["examples"])


def test_where_the_future_uses_nothing_the_verdict_says_so(tmp_path):
    found = audited(tmp_path, Overlap(least_pool=8), noise(seed=1))
    assert found["n"] > 200
    apart = found["apart"]
    assert apart["low"] < 0.5 < apart["high"]
    assert "no more with the true one than with another" in findings(found)[0]
    assert any("does not tell the true future" in line for line in findings(found))
    assert abs(found["novel_words"]["real"]["mean"] - found["novel_words"]["other"]["mean"]) < 0.5


def test_a_label_made_of_its_own_future_is_no_use_either(tmp_path):
    """HP's query is a piece of its own future: what both share must not count."""
    found = audited(tmp_path, Gated(least_pool=8), noise(users=8, sessions=3, turns=10))
    assert found["n"] > 60 and found["apart"]["low"] < 0.55 and found["apart"]["high"] > 0.45
    query = found["signals"]["query, BM25 window"]
    assert query["apart"] is None and query["stays"]["mean"] == 1  # reads no future


def test_where_every_turn_repeats_an_earlier_one_it_is_found(tmp_path):
    lines = noise(users=5, sessions=2)
    for line in lines:
        for i, turn in enumerate(line["turns"]):
            if i >= 8:
                turn["text"] = line["turns"][i - 7]["text"]
    found = audited(tmp_path, Overlap(least_pool=4), lines)
    assert found["apart"]["low"] > 0.5
    assert "with the true one most" in findings(found)[0]


def test_a_labeler_that_loves_long_memories_is_deaf_and_flagged(tmp_path):
    found = audited(tmp_path, Longest())
    assert found["stays"]["shuffled"]["mean"] == 1 and found["stays"]["hidden"] is None
    said = findings(found)
    assert said[0].startswith("labels do not move with the future: 100 %")
    assert any('lean to more of "length (log of words)"' in line for line in said[1:])
    assert found["lean"]["length (log of words)"]["shift"]["real"]["mean"] > 1
    assert list(found["signals"]) == [LABEL, BASELINE]


def test_a_labeler_that_labels_nothing(tmp_path):
    lines = [line | {"turns": [turn | {"calls": []} for turn in line["turns"]]} for line in noise()]
    found = audited(tmp_path, Values(least_pool=8), lines)
    assert found["labelled"]["mean"] == 0
    assert findings(found)[0].startswith("no label: no future in this log")
    json.dumps(found, allow_nan=False)


def test_one_user_is_judged_by_sessions(tmp_path):
    found = audited(tmp_path, Overlap(least_pool=8), people.native(("ana",)))
    assert (found["users"], found["cluster"], found["clusters"]) == (1, "session", 4)
    assert found["apart"]["low"] is not None


@pytest.mark.parametrize("labeler", [Gated(least_pool=8), Values(least_pool=8), Overlap(least_pool=8)])
def test_what_is_explained_is_what_is_labelled(tmp_path, labeler):
    """The audit sees the labels that training sees, HQ's too."""
    path = people.write_lines(tmp_path / "log.jsonl", people.native())
    encoder = HashingEncoder(32)
    for stream in mined(NativeReader().read(path, Count()), Turns()):
        wanted = {one.query.query_id: one.uses for one in labeler.label(stream.turns, stream.memories, encoder)}
        asked = labeler.asked(stream.turns, stream.user_id)
        compared = 0
        for place, past in replay(stream.turns, stream.memories, encoder, [one.query.asked_at for _, one in asked]):
            at, one = asked[place]
            known = moment(past, one.query)
            if len(known.rows) >= labeler.least_pool:
                before = [stream.turns[p] for p in one.query.context]
                label, parts = explain(labeler, known, before, one, stream.turns[at])
                assert (label.uses if label else None) == wanted.get(one.query.query_id)
                assert all(len(values) == len(known.rows) for values in parts.values())
                compared += label is not None
        assert compared > 2


def pairs(answers=False):
    """Each person's calls: the turn that gave the value."""
    rows = [row for row in people.gold() if row["regime"] == "act"]
    return [
        {"query_id": row["query_id"], "user_id": row["user_id"], "dialogue_id": row["session"], "turn": 11,
         "text": "Now reserve it as I told you.", "relevant": [f"{name}:{turn}" for name, turn in row["relevant"]]}
        for row in rows
    ]  # fmt: skip


def test_a_handful_of_gold_in_either_format(tmp_path):
    lines = people.write_lines(tmp_path / "pairs.jsonl", pairs())
    found = audited(tmp_path, Values(least_pool=8), gold=lines)["gold"]
    real, shuffled = (found["futures"][name]["by"]["all"] for name in ("real", "shuffled"))
    assert real["n"] == 9 and real["auc"]["mean"] == real["top1"]["mean"] == 1 and shuffled["auc"]["mean"] < 0.8
    assert found["signals"]["call values"]["by"]["all"]["auc"]["mean"] == 1
    assert found["signals"][BASELINE]["by"]["all"]["auc"]["mean"] < 1
    assert (
        real["calibration"]["n"] > 100 and real["f1"] == 1 and real["f1_low"] is None
    )  # of one user, in the half that is judged
    queries = people.write_lines(
        tmp_path / "queries.jsonl", [{k: v for k, v in row.items() if k != "relevant"} for row in pairs()]
    )
    qrels = tmp_path / "pairs.qrels"
    qrels.write_text("".join(f"{row['query_id']} 0 {name} 1\n" for row in pairs() for name in row["relevant"]))
    assert audited(tmp_path, Values(least_pool=8), gold=qrels, queries=queries)["gold"] == found


def test_a_handful_says_how_little_it_can_say(tmp_path):
    lines = people.write_lines(tmp_path / "pairs.jsonl", pairs())
    said = findings(audited(tmp_path, Values(least_pool=8), gold=lines))
    assert any("9 gold queries of 3 users: AUC 1.000" in line for line in said)
    assert any("9 queries can say little" in line for line in said)


def test_gold_without_a_future_or_with_an_answer(tmp_path):
    row = pairs()[-1] | {"dialogue_id": "cy-3", "turn": 12}  # at the log's end
    path = people.write_lines(tmp_path / "pairs.jsonl", [row])
    with pytest.raises(DataError, match="no judged query with a future"):
        audited(tmp_path, Values(least_pool=8), gold=path)
    path = people.write_lines(tmp_path / "pairs.jsonl", [row | {"answer": "Platform 9 it was."}, *pairs()[:-1]])
    assert audited(tmp_path, Overlap(least_pool=8), gold=path)["gold"]["futures"]["real"]["n"] == 9
    path = people.write_lines(tmp_path / "pairs.jsonl", [row | {"relevant": ["cy-9:1"]}])
    with pytest.raises(DataError, match=r"pairs\.jsonl: query"):
        audited(tmp_path, Values(least_pool=8), gold=path)
    with pytest.raises(ConfigError, match="goes with"):
        Audit(queries=path)
    with pytest.raises(ConfigError, match="wanted 0 or more"):
        Audit(limit=-1)


def test_the_same_again_and_a_poisoned_label_changes_it(tmp_path):
    first = audited(tmp_path, Values(least_pool=8))
    assert audited(tmp_path, Values(least_pool=8)) == first
    assert audited(tmp_path, replace(Values(least_pool=8), future="shuffled")) == first  # the audit sets the futures itself
