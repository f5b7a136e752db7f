"""First among all tests: the future, other users, source ids and gold reach no feature, no label and no hit.

Each test also shows that its poison would be seen where it may be seen, so none of them passes by looking away.
"""

import copy
import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from hindsight.crossfit import Recipe, crossfit
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.evaluate import Ask, ask_user, users_of
from hindsight.features import matrix
from hindsight.features.replay import moment, replay
from hindsight.labeler.gated import Gated
from hindsight.labeler.overlap import Overlap
from hindsight.labeler.values import Values
from hindsight.logs.native import NativeReader
from hindsight.miner.episodes import Episodes
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.suite.bundled import Bundled
from hindsight.suite.locomo import LoCoMo
from hindsight.suite.past import streams
from hindsight.suite.reuse import Reuse
from hindsight.system.build import systems
from hindsight.system.past import Past
from hindsight.train.batches import listed
from hindsight.train.learn import Encoding
from hindsight.train.loop import Fit
from hindsight.types import Case, Count, Judgment, Labelled, Query, ToolCall, Turn, Use
from tests import people

ENCODER = HashingEncoder(32)
ENCODING = Encoding(ENCODER, CacheConfig(""))
ALL = tuple(dict.fromkeys((*matrix.ASK, *matrix.ACT, *matrix.NARROW)))
LABELERS = [Gated(least_pool=8), Values(least_pool=8), Overlap(least_pool=8)]
PLAIN = ("recent", "bm25", "dense", "rrf", "zsum", "prior")
MEASURES = ("recall@5", "ndcg@10", "mrr")
POISON = "POISON: Nora, parrots, Granary Wharf, Doctor Okafor on 14 May at 9:40 am for EUR 85? No, thanks, that was wrong."


def poisoned(turns):
    """Other words, full of the facts, values and cues that features look for; other calls, sessions and speakers."""
    call = ToolCall("poison", "reserve", {"value": "14 May", "at": "Hotel Lindenhof"}, "KX 683", "failure")
    return [replace(t, text=POISON, session="poison", calls=(call,), role="user", speaker="Eve") for t in turns]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Each user's stream, as a reader and a stage would give it."""
    path = people.write_lines(tmp_path_factory.mktemp("log") / "log.jsonl", people.native())
    return list(streams(NativeReader().read(path, Count())))


def test_turns_at_or_after_the_moment_change_no_episode_of_the_past(logs):
    """Which episode a session has closed by now may hang on its later turns; system/past waits until the session is over."""
    turns = list(logs[0].turns)
    for asked in range(12, len(turns)):
        known = []
        for stream in (turns, [*turns[:asked], *poisoned(turns[asked:])]):
            ((_, past),) = replay(stream, Episodes().mine(stream, "u", ""), ENCODER, [asked])
            known.append([memory.memory_id for memory in past.memories])
        assert known[0] == known[1]


def labels(turns, labeler):
    return labeler.label(turns, Turns().mine(turns, "u", ""), ENCODER)


def features(turns, one):
    (found,) = listed(turns, Turns().mine(turns, "u", ""), [one], ENCODER, ALL)
    return found


def about(one):
    """A training query whose use is known to lie in its pool, so that a list is made whatever the labels are."""
    return replace(one, uses=(replace(one.uses[0], gain=1.0),))


@pytest.mark.parametrize("labeler", LABELERS, ids=lambda one: type(one).__name__)
def test_turns_at_or_after_the_moment_change_no_feature_of_a_training_query(logs, labeler):
    checked = 0
    for log in logs:
        turns = list(log.turns)
        for one in map(about, labels(turns, labeler)[::2]):
            at = one.query.asked_at
            if at == len(turns):  # asked at the end of the log: nothing comes after
                continue
            later = features([*turns[:at], *poisoned(turns[at:])], one)
            assert np.array_equal(features(turns, one).features, later.features), one.query
            checked += 1
    assert checked >= 7


def test_the_poison_is_seen_where_it_may_be(logs):
    turns = list(logs[0].turns)
    one = max(map(about, labels(turns, LABELERS[2])), key=lambda one: one.query.asked_at)
    before = one.query.asked_at - 5
    hurt = [*turns[:before], *poisoned(turns[before : before + 1]), *turns[before + 1 :]]
    assert not np.array_equal(features(turns, one).features, features(hurt, one).features)


@pytest.mark.parametrize("labeler", LABELERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("future", ["real", "hidden"])
def test_turns_after_the_horizon_change_no_label(logs, labeler, future):
    """The horizon is the turn at ``asked_at``. PQ and RQ are asked at the end of the log and answered by a turn of it."""
    labeler, checked, seen = replace(labeler, future=future), 0, 0
    for log in logs:
        turns = list(log.turns)
        clean = {one.query.query_id: one for one in labels(turns, labeler)}
        for cut in (23, 33, 36, 40):
            hurt = {one.query.query_id: one for one in labels([*turns[: cut + 1], *poisoned(turns[cut + 1 :])], labeler)}
            for one in clean.values():
                if one.query.asked_at <= cut:
                    assert hurt[one.query.query_id] == one
                    checked += 1
            seen += any(hurt.get(name) != one for name, one in clean.items())
    assert checked >= 20 and seen


def suites(folder, log=None):
    """Cases of both regimes on the same log."""
    people.bundled(folder, log)
    return [list(suite.cases(Count())) for suite in (Bundled(folder), Reuse(folder))]


def with_poison(log, first):
    """One user's log where every turn from position ``first`` on is another one. The first answers, so it stays in its session."""
    log = copy.deepcopy(log)
    lines = [turn for record in log for turn in record["turns"]]
    for place, line in enumerate(lines[first:]):
        line |= {"text": POISON, "speaker": "Eve"} | ({"session": "poison"} if place else {})
        if line["role"] == "assistant":
            line["calls"] = [{"name": "reserve", "arguments": {"value": "14 May"}, "outcome": "failure"}]
    return log


def test_turns_after_the_question_change_no_feature_of_a_case(tmp_path):
    """A question of *ask* is the turn at ``asked_at`` itself, so the poison begins after it; in *act* it begins there."""
    log = people.native(("ana",))
    gold = people.gold(("ana",))
    people.bundled(tmp_path / "clean", log, gold)
    for make, first in ((Bundled, 1), (Reuse, 0)):
        clean = list(make(tmp_path / "clean").cases(Count()))
        assert len(clean) == 3
        for place, case in enumerate(clean):
            hurt_log = with_poison(log, case.query.asked_at + first)
            folder = people.bundled(tmp_path / f"{make.__name__}{place}", hurt_log, gold)
            hurt = list(make(folder).cases(Count()))[place]
            assert hurt.query == case.query and hurt.turns == case.turns
            assert np.array_equal(at(case, Turns()), at(hurt, Turns()))


def at(case, miner, turns=None):
    past = Past(miner, ENCODER)
    past.observe(case.query.user_id, case.turns if turns is None else turns)
    return matrix.compute(moment(past.at(case.query), case.query), ALL)


@pytest.mark.parametrize("miner", [Turns(), Episodes()], ids=lambda one: type(one).__name__)
def test_turns_that_a_system_has_observed_too_early_change_no_feature_and_no_hit(tmp_path, logs, miner):
    whole = {log.user_id: list(log.turns) for log in logs}
    cases = [case for suite in suites(tmp_path) for case in suite if case.query.asked_at > 20]
    assert len(cases) == 15
    for case in cases[::4]:
        asked, turns = case.query.asked_at, whole[case.query.user_id]
        early = [*turns[:asked], *poisoned(turns[asked:])]
        assert np.array_equal(at(case, miner), at(case, miner, early))
        assert hits(miner, {case.query.user_id: case.turns}, case.query) == hits(
            miner, {case.query.user_id: early}, case.query
        )


def hits(miner, turns, query):
    """Of every system that needs no fit, and of two heads with opinions, over one shared past."""
    past = Past(miner, ENCODER)
    for user_id, own in turns.items():
        past.observe(user_id, own)
    heads = {"utility": opinionated(Linear()), "utility_gold": opinionated(Mlp())}
    made = systems(("random", *PLAIN, *heads), past, CandidatesConfig(10).build(), heads)
    return {name: system.recall(query, 10) for name, system in made.items()}


def opinionated(config):
    """Every weight says something."""
    import torch

    head = config.build()
    with torch.no_grad():
        for number, weight in enumerate(head.parameters()):
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(number)))
    return head.eval()


@pytest.mark.parametrize("miner", [Turns(), Episodes()], ids=lambda one: type(one).__name__)
def test_another_user_changes_no_hit(tmp_path, logs, miner):
    whole = {log.user_id: list(log.turns) for log in logs}
    for case in [case for suite in suites(tmp_path) for case in suite][::5]:
        mine, own = case.query.user_id, list(case.turns)
        alone = hits(miner, {mine: own}, case.query)
        assert any(alone.values())
        others = {user_id: turns for user_id, turns in whole.items() if user_id != mine}
        assert hits(miner, {**others, mine: own}, case.query) == alone
        copies = dict.fromkeys(others, own)  # even where they said the very same
        assert hits(miner, {mine: own, **copies}, case.query) == alone


def measured(users, heads):
    """Rows without ids and times, in the order of the log."""
    ask = Ask((*PLAIN, "utility"), MEASURES, Turns(), ENCODING)
    rows = [row for user, scorers in zip(users, heads) for row in ask_user(ask, (user, scorers)).rows]
    return [{key: row[key] for key in ("kind", "system", "seed", "text", "pool", *MEASURES)} for row in rows]


RECIPE = Recipe(Turns(), Gated(least_pool=8), Linear(), Fit(epochs=2), ENCODING, 1)


def fitted(users, names=("utility",)):
    heads, _ = crossfit(RECIPE, users, names, 3, [0])
    return heads


def test_renaming_all_source_ids_changes_no_metric(tmp_path):
    """Users, dialogues and sessions. Trained anew inside the suite on the renamed log. ``random`` draws by a hash of ids."""
    log, gold = people.native(), people.gold()
    new = {"ana": "zoe", "bo": "ana", "cy": "m 1"}

    def name(user, dialogue):
        return f"{9 - int(dialogue.rpartition('-')[2])} of {new[user][::-1]}"

    renamed = [
        {
            **line,
            "user_id": new[line["user_id"]],
            "dialogue_id": name(line["user_id"], line["dialogue_id"]),
            "session": f"s{n}",
        }
        for n, line in enumerate(log)
    ]
    rows = [
        {
            **row,
            "query_id": f"{n * 7919 % 100}",
            "user_id": new[row["user_id"]],
            "session": name(row["user_id"], row["session"]),
            "relevant": [[name(row["user_id"], dialogue), turn] for dialogue, turn in row["relevant"]],
        }
        for n, row in enumerate(gold)
    ]
    found = []
    for place, folder in enumerate(
        (people.bundled(tmp_path / "a", log, gold), people.bundled(tmp_path / "b", renamed, rows))
    ):
        users = users_of(list(Bundled(folder).cases(Count())))
        assert [len(user) for user in users] == [3, 3, 3], place
        found.append((measured(users, fitted(users)), {case.query.query_id for user in users for case in user}))
    assert found[0][0] == found[1][0] and len(found[0][0]) == 9 * 7
    assert not found[0][1] & found[1][1]


def test_a_user_is_scored_by_heads_that_never_saw_them(tmp_path):
    """Other words of one user change the heads of all others and not that user's own."""
    plain = users_of(list(Bundled(people.bundled(tmp_path / "a")).cases(Count())))
    log = people.native()
    for line in log:
        if line["user_id"] == "bo":
            for number, turn in enumerate(line["turns"]):
                turn["text"] = people.FACTS[(number * 5) % 12][number % 3]
    other = users_of(list(Bundled(people.bundled(tmp_path / "b", log)).cases(Count())))
    same = [
        all(np.array_equal(a, b) for a, b in zip(weights(one), weights(two)))
        for one, two in zip(fitted(plain), fitted(other))
    ]
    assert same == [False, True, False]


def weights(heads):
    return [value.numpy() for value in heads["utility"][0].state_dict().values()]


def wrong_gold(case: Case) -> Case:
    """Other judgments, answers and futures."""
    other = tuple(position + 3 for position in case.relevant)
    return replace(case, relevant=other, answers=(POISON,), future=poisoned(case.turns[-1:])[0], kind="poison")


@pytest.mark.parametrize("suite", [Bundled, Reuse, LoCoMo])
def test_gold_changes_no_hit_and_no_fit(tmp_path, suite):
    """The oracle, which is trained on the other users' gold, is the proof that the poison is strong enough."""
    path = people.locomo(tmp_path / "l.json") if suite is LoCoMo else people.bundled(tmp_path / "b")
    users = users_of(list(suite(path).cases(Count())))
    hurt = [[wrong_gold(case) for case in user] for user in users]
    names = ("utility", "utility_gold")
    heads, wrong = fitted(users, names), fitted(hurt, names)
    ask = Ask((*PLAIN, "utility"), MEASURES, Turns(), ENCODING)
    for user, bad, one, two in zip(users, hurt, heads, wrong):
        clean, spoilt = ask_user(ask, (user, one)), ask_user(ask, (bad, two))
        assert clean.runs == spoilt.runs
        assert [row["ndcg@10"] for row in clean.rows] != [row["ndcg@10"] for row in spoilt.rows]
    assert any(
        not np.array_equal(a, b)
        for one, two in zip(heads, wrong)
        for a, b in zip(*(list(head["utility_gold"][0].state_dict().values()) for head in (one, two)))
    )


@pytest.mark.parametrize("suite", [Bundled, Reuse, LoCoMo])
def test_a_system_is_given_turns_and_queries_and_no_gold(tmp_path, suite):
    """Everything that can be reached from its arguments is looked at, private attributes too."""
    path = people.locomo(tmp_path / "l.json") if suite is LoCoMo else people.bundled(tmp_path / "b")
    (user, *_) = users_of(list(suite(path).cases(Count())))
    cases = [replace(case, answers=("GOLD",), kind="GOLD") for case in user]
    people.Watched.given.clear()
    ask_user(Ask((), MEASURES, Turns(), ENCODING, path="tests.people:Watched"), (cases, {}))
    observed, asked = 0, iter(cases)
    for method, arguments in people.Watched.given:
        if method == "observe":
            new = list(arguments[1])  # pyright: ignore[reportCallIssue, reportArgumentType]
            assert [turn.position for turn in new] == list(range(observed, observed + len(new)))
            observed += len(new)
        else:
            case = next(asked)
            assert arguments == (case.query, 20) and observed == case.query.asked_at == len(case.turns)
        for one in reached(arguments):
            assert not isinstance(one, Case | Judgment | Use | Labelled) and one != "GOLD"
            assert not isinstance(one, Turn) or one.position < observed
    assert next(asked, None) is None
    assert {field.name for field in dataclasses.fields(Query)} & {"relevant", "answers", "future", "uses", "kind"} == set()


def reached(root):
    """Every object behind one, through fields, slots, attributes and elements."""
    seen, left = {}, [root]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen[id(one)] = one
        if isinstance(one, dict):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        elif not isinstance(one, str | int | float | None):
            names = [
                *getattr(one, "__dict__", {}),
                *(n for base in type(one).__mro__ for n in getattr(base, "__slots__", ())),
            ]
            left += [getattr(one, name) for name in names if hasattr(one, name)]
    return list(seen.values())
