"""Which values are rivals, who is absent, and which questions the injection suite asks of the bundled people."""

import pytest

from hindsight.suite.gold import FOLDER
from hindsight.suite.injection import InjectionSuite, Question, needed, target
from hindsight.suite.told import Told, absent, before, overwritten, read_told, rivals
from hindsight.types import Case, ConfigError, Count, DataError, Query, Turn
from tests import people

TOLD = (
    Told("pet", "value", "a cat called Dot", 0),
    Told("pet", "person", "Wanda", 2),
    Told("pet", "rel", "sister", 2),
    Told("pet", "other", "a greyhound", 2),
    Told("bay", "value", "bay 7", 4),
    Told("plot0", "room", "Maple", 5),
    Told("pet", "value", "a parrot", 6),
    Told("plot0", "room", "Birch", 8),
    Told("pet", "value", "a snake", 30),
)


def case(text, answers, relevant, kind="single", asked_at=20):
    turns = tuple(Turn(n, "s", "user", "user", "My sister Wanda has a greyhound.") for n in range(asked_at))
    return Case(Query("q", "u", "d", text, asked_at), turns, relevant, kind, answers)


def test_what_was_overwritten_and_what_else_is_of_the_attribute():
    one = case("Which animals live with me?", ("a parrot",), (6,))
    assert overwritten(one, TOLD) == ("a cat called Dot",)
    assert rivals(one, TOLD) == ("a cat called Dot", "a greyhound")  # never one of later
    hers = case("What does Wanda have?", ("a greyhound",), (2,))
    assert overwritten(hers, TOLD) == () and rivals(hers, TOLD) == ("a cat called Dot", "a parrot")
    assert overwritten(case("Which room?", ("Birch",), (8,)), TOLD) == ("Maple",)
    assert before(one, TOLD) == ("a cat called Dot", "a greyhound", "bay 7", "Maple", "a parrot", "Birch")
    assert before(case("Is it bay 7?", (), (), "abstain", 5), TOLD) == ("a cat called Dot", "a greyhound")


def test_a_retracted_value_is_overwritten_by_the_retraction():
    told = (Told("car", "value", "the red one", 1), Told("car", "gone", "sold it", 3))
    assert overwritten(case("Which car?", ("sold it",), (3,)), told) == ("the red one",)


def test_somebody_absent_takes_the_named_persons_place():
    hers = case("What does Wanda have, my Wandas?", ("a greyhound",), (2,))
    other = absent(hers, TOLD, {"person": ["Ada", "Wanda"], "rel": ["aunt"]}, "My sister Wanda has a greyhound. Ask Adam.")
    assert other is not None and other.query.text == "What does Ada have, my Wandas?"
    assert other.relevant == () and other.answers == () and other.kind == "absent" and other.query.query_id != "q"
    assert other.query.asked_at == hers.query.asked_at and other.turns == hers.turns
    assert absent(hers, TOLD, {"person": ["Ada"]}, "I met Ada.") is None  # known
    assert absent(case("Which animals live with me?", ("a parrot",), (6,)), TOLD, {"person": ["Ada"]}, "") is None
    assert (
        absent(case("Wanda's and mine?", ("a parrot", "a greyhound"), (2, 6), "multi"), TOLD, {"person": ["Ada"]}, "")
        is None
    )


def test_what_a_right_answer_needs():
    day = case("When?", ("last Friday", "2024-03-01"), (2,), "temporal")
    both = case("Which two?", ("a", "b"), (2,), "multi")
    assert needed(day) == (("last Friday",), ("2024-03-01",)) and target(day) == "last Friday"
    assert needed(both) == (("a", "b"),) and target(both) == "a and b"


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_bundled_questions(split):
    """Counted, not looked at: what the model answers is for the final table."""
    found = InjectionSuite(split=split).questions(Count())
    kinds = [one.case.kind for one in found]
    assert kinds.count("abstain") == {"train": 78, "test": 40}[split] and kinds.count("absent") >= 15
    assert len(found) >= 300 and len({one.case.query.query_id for one in found}) == len(found)
    assert sum(bool(one.old) for one in found) >= 40
    for one in found:
        said = " ".join(turn.text for turn in one.case.turns).casefold()
        calls = " ".join(str(call) for turn in one.case.turns for call in turn.calls).casefold()
        assert all(value.casefold() in said + calls for value in one.told)
        assert not set(one.old) & set(one.case.answers) and set(one.old) <= set(one.rivals)
        assert (not one.needed) == (one.case.kind in ("abstain", "absent")) == (one.target == "")
    users = [one.case.query.user_id for one in found]
    assert [user for n, user in enumerate(users) if n == 0 or users[n - 1] != user] == list(dict.fromkeys(users))


def test_a_limit_draws_from_all_and_a_larger_one_holds_it():
    def ids(limit):
        return [one.case.query.query_id for one in InjectionSuite(split="train", limit=limit).questions(Count())]

    few, more = ids(20), ids(60)
    assert len(few) == 20 and set(few) < set(more)
    assert len({one.case.query.user_id for one in InjectionSuite(split="train", limit=20).questions(Count())}) > 10


def test_locomo(tmp_path):
    path = people.locomo(tmp_path / "locomo.json")
    suite = InjectionSuite(of="locomo", path=path)
    found = suite.questions(Count())
    assert len(found) == 12 and all(one.needed == ((one.target,),) and one.told == one.old == () for one in found)
    assert isinstance(found[0], Question) and suite.unanswerable() == []
    assert list(suite.cases(Count())) == [one.case for one in found]


def test_bad_input(tmp_path):
    with pytest.raises(ConfigError, match=r"suite\.path"):
        InjectionSuite(of="locomo")
    folder = people.bundled(tmp_path)
    with pytest.raises(DataError, match=r"told\.jsonl"):
        InjectionSuite(path=folder).questions(Count())
    people.write_lines(folder / "told.jsonl", [{"user_id": "ana"}])
    with pytest.raises(DataError, match=r"told\.jsonl:1"):
        read_told(folder, "test")
    row = {"user_id": "ana", "session": "ana-0", "turn": 99, "attribute": "a", "slot": "value", "value": "x"}
    people.write_lines(folder / "told.jsonl", [row])
    with pytest.raises(DataError, match=r"told\.jsonl:1"):
        read_told(folder, "test")
    assert read_told(FOLDER, "test")
