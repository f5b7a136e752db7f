"""Asking a suite's questions: what is timed, what is counted, and what is asked of whom."""

import copy

import pytest

from hindsight import evaluate
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.evaluate import LOST, Answers, Ask, ask_user, users_of
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.retrieval.index import Index
from hindsight.retrieval.lexical import Lexical
from hindsight.scorer.linear import Linear
from hindsight.suite.bundled import Bundled
from hindsight.suite.reuse import Reuse
from hindsight.system.build import NAMES, RERANKED, TRAINED
from hindsight.train.learn import Encoding
from hindsight.types import Count
from tests import people

PLAIN = tuple(name for name in NAMES if name not in (*TRAINED, *RERANKED, "formula"))
ENCODING = Encoding(HashingEncoder(32), CacheConfig(""))


def ask(names=PLAIN, **options):
    return Ask(names, ("recall@5", "mrr"), Turns(), ENCODING, **options)


def cases_of(folder, suite=Bundled):
    return users_of(list(suite(people.bundled(folder)).cases(Count())))


@pytest.mark.parametrize("suite", [Bundled, Reuse])
@pytest.mark.parametrize(("names", "limit"), [(PLAIN, 10), (("zsum",), 1000)])
def test_no_system_pays_for_what_grows_with_the_log(tmp_path, monkeypatch, suite, names, limit):
    """A clock that only the growing of something moves: of the shared past, of an index, of a text's vectors."""
    clock = [0.0]

    def slow(owner, name):
        real = getattr(owner, name)

        def grown(self, *arguments):
            clock[0] += 1
            return real(self, *arguments)

        monkeypatch.setattr(owner, name, grown)

    for owner, name in ((Timeline, "_add"), (Lexical, "_build"), (Index, "add"), (HashingEncoder, "_encode")):
        slow(owner, name)
    monkeypatch.setattr(evaluate.time, "perf_counter", lambda: clock[0])
    evaluate.built.cache_clear()  # texts of other tests are known to an encoder that was built before
    user = cases_of(tmp_path, suite)[0]
    answers = ask_user(ask(names, candidates=CandidatesConfig(limit)), (user, {}))
    assert len(answers.rows) == 3 * len(names) and clock[0] > 40
    assert {(row["system"], row["ms"]) for row in answers.rows if row["ms"]} == set()


def test_a_question_whose_evidence_is_no_memory_is_counted_and_the_others_go_on(tmp_path):
    log = copy.deepcopy(people.native())
    for line in log:
        if line["dialogue_id"] == "ana-0":
            line["turns"][2]["text"] = ""  # says nothing, so it is no memory
    people.Watched.given.clear()
    users = users_of(list(Bundled(people.bundled(tmp_path, log)).cases(Count())))
    answers = Answers()
    for user in users:
        answers.add(ask_user(ask(("bm25",), path="tests.people:Watched"), (user, {})))
    assert answers.lost == {LOST: 1} and len(answers.rows) == 2 * 8 and len(answers.qrels) == 8
    observed = [turn.position for what, given in people.Watched.given if what == "observe" for turn in given[1]]
    assert observed == [*range(44)] * 3


def test_rows_say_what_was_asked_of_whom(tmp_path):
    (user, *_) = cases_of(tmp_path)
    answers = ask_user(ask(("recent", "bm25"), k=5), (user, {}))
    assert [row["system"] for row in answers.rows] == ["recent", "bm25"] * 3
    assert {(row["user_id"], row["kind"], row["seed"]) for row in answers.rows} == {(user[0].query.user_id, "single", 0)}
    assert [row["pool"] for row in answers.rows[::2]] == [20, 32, 44] == [case.query.asked_at for case in user]
    assert all(len(hits) <= 5 for run in answers.runs.values() for hits in run.values())
    assert list(answers.qrels) == [case.query.query_id for case in user]


def test_cases_of_a_user_stay_together(tmp_path):
    users = cases_of(tmp_path)
    assert [len({case.query.user_id for case in user}) for user in users] == [1, 1, 1] and users_of([]) == []


def test_the_utility_of_every_candidate_is_kept_beside_gold_for_the_first_seed(tmp_path):
    (user, *_) = cases_of(tmp_path)
    heads = {seed: Linear("narrow").build().eval() for seed in (0, 1)}
    answers = ask_user(ask(("bm25", "utility"), k=5), (user, {"utility": heads}))
    assert list(answers.utilities) == ["utility"]
    assert [len(chances) for chances, _ in answers.utilities["utility"]] == [20, 32, 44]  # not the five that are hits
    assert [used.sum() for _, used in answers.utilities["utility"]] == [1, 1, 1]
    assert all((chances > 0).all() and (chances < 1).all() for chances, _ in answers.utilities["utility"])
    both = Answers()
    both.add(answers)
    both.add(answers)
    assert len(both.utilities["utility"]) == 6
