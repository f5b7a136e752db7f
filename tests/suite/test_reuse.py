import json
import os
from collections import Counter
from pathlib import Path

import pytest

from hindsight.suite.gold import FOLDER as BUNDLED
from hindsight.suite.past import Prefix
from hindsight.suite.reuse import CONTEXT, Reuse
from hindsight.types import Count, DataError
from tests import people

REAL = os.environ.get("HINDSIGHT_SGD", "")
LONG = 12  # turns of a dialogue, half with each of two services


def act(kind, slot, value, said=None):
    return {"act": kind, "slot": slot, "values": [value if said is None else said], "canonical_values": [value]}


def inform(slot, value, said=None):
    return act("INFORM", slot, value, said)


def dialogue(number, lines):
    """``lines``: place -> (text, actions, arguments of a call). ``#`` in texts and values is the dialogue's number."""
    turns = []
    for place in range(LONG):
        text, actions, call = (*lines.get(place, ()), *("hm", [], None)[len(lines.get(place, ())) :])
        frame = {"service": ("Hotels", "Trains")[place >= LONG // 2], "actions": actions}
        if call:
            frame |= {"service_call": {"method": "Book", "parameters": call}, "service_results": []}
        turns.append({"speaker": ("USER", "SYSTEM")[place % 2], "utterance": f"<#> {text}", "frames": [frame]})
    whole = {"dialogue_id": f"{number}", "services": ["Hotels", "Trains"], "turns": turns}
    return json.loads(json.dumps(whole).replace("#", f"no{number}"))


def read(folder, lines, **options):
    """A history of eight dialogues that differ by their number alone."""
    folder.mkdir(exist_ok=True)
    (folder / "dialogues_001.json").write_text(json.dumps([dialogue(n, lines) for n in range(8)]))
    return list(Reuse(folder, **options).build().cases(count := Count())), count


def gold(folder, lines):
    """What holds of every dialogue but the first two, which are too early: (place asked, kind) -> places of gold in it."""
    cases, count = read(folder, lines)
    found = {}
    for case in cases:
        at = case.query.asked_at
        if at >= 2 * LONG:
            begins = at - at % LONG
            known = found.setdefault((at - begins, case.kind), []).append([place - begins for place in case.relevant])
            assert known is None
    assert all(len(own) == 6 and own == own[:1] * 6 for own in found.values())
    return {key: own[0] for key, own in found.items()}, count


CITY = ("Stay in Leeds.", [inform("city", "Leeds")])
CALL, REPLY = "call, same session", "reply, same session"


def test_gold_is_the_first_turn_that_gave_a_value_in_the_same_dialogue(tmp_path):
    """Every dialogue says Leeds, and two of its turns do."""
    lines = {
        0: CITY,
        1: ("Leeds, then.", [act("CONFIRM", "city", "Leeds")]),
        3: ("How about Inn #?", [act("OFFER", "hotel", "Inn #")]),
        11: ("Done.", [], {"to": "LEEDS ", "hotel": "Inn #", "class": "first", "seats": "2"}),
    }
    found, count = gold(tmp_path, lines)
    assert found == {(11, CALL): [0, 3]}
    assert count.kept == 7  # the first dialogue's comes before there is much to forget
    assert count.skipped == {
        "before turn 20": 10,
        "no value from before the context": 12,
        "states and calls no value": 19,
    }


def test_a_value_in_the_context_is_no_gold_however_it_stands_there(tmp_path):
    call = ("Done.", [], {"to": "Leeds"})
    assert gold(tmp_path, {0: CITY, 11: call})[0] == {(11, CALL): [0]}
    assert gold(tmp_path, {0: CITY, 6: CITY, 11: call})[0] == {(11, CALL): [0]}  # not the last giver
    for place in (8, 9, 10):
        for seen in (("there", [inform("town", "Leeds")]), ("in leeds", [])):
            found, _ = gold(tmp_path, {0: CITY, 5: call, place: seen, 11: call})
            assert found[5, CALL] == [0] and (11, CALL) not in found
    date = {0: ("On the 8th.", [inform("day", "2019-03-08", "the 8th")]), 11: ("Done.", [], {"day": "2019-03-08"})}
    assert gold(tmp_path, date)[0] == {(11, CALL): [0]}
    for seen in ("The 8th, right?", "So 2019-03-08."):  # as the giver said it, and as it is
        with pytest.raises(DataError, match="no question"):
            read(tmp_path, {**date, 9: (seen, [])})


def test_weak_values_need_the_same_service_and_slot(tmp_path):
    two = {1: ("2", [inform("rooms", "2")]), 6: ("2", [inform("seats", "2")]), 7: ("2", [inform("seats", "2")])}
    assert gold(tmp_path, {**two, 11: ("Done.", [], {"seats": "2"})})[0] == {(11, CALL): [6]}
    assert gold(tmp_path, {**two, 9: ("2!", [inform("cars", "2")]), 11: ("Done.", [], {"seats": "2"})})[0][11, CALL] == [6]
    for arguments in ({"rooms": "2"}, {"cars": "2"}):  # rooms are the other service's
        with pytest.raises(DataError, match="no question"):
            read(tmp_path, {**two, 11: ("Done.", [], arguments)})
    with pytest.raises(DataError, match="no question"):
        read(tmp_path, {**two, 9: ("2!", [inform("seats", "2")]), 11: ("Done.", [], {"seats": "2"})})
    both = {
        0: ("Yes.", [inform("pets", "True"), inform("pool", "True")]),
        5: ("Done.", [], {"pets": "True", "pool": "True"}),
    }
    assert gold(tmp_path, both)[0] == {(5, CALL): [0]}


def test_statements_need_values_too_and_intents_do_not(tmp_path):
    lines = {
        0: (
            "Leeds.",
            [inform("city", "Leeds"), inform("intent", "Stay"), {"act": "INFORM", "slot": "day", "values": ["Monday"]}],
        ),
        5: ("It is in Leeds.", [act("OFFER", "city", "Leeds")]),
        7: ("What else?", [act("REQUEST", "city", "Leeds"), {"act": "GOODBYE"}]),
        11: (
            "Stay on Monday.",
            [act("INFORM", "intent", "Stay"), act("CONFIRM", "day", "Monday"), act("OFFER", "", "Leeds")],
        ),
    }
    assert gold(tmp_path, lines)[0] == {(5, REPLY): [0], (11, REPLY): [0]}


def test_the_query_is_what_the_last_three_turns_say(tmp_path):
    cases, _ = read(tmp_path, {0: CITY, 10: ("Book it.", []), 11: ("Done.", [], {"to": "Leeds"})})
    for case in cases:
        at = case.query.asked_at
        assert case.query.context == (at - 3, at - 2, at - 1)
        assert [line.split(">")[1] for line in case.query.text.split("\n")] == [" hm", " hm", " Book it."]
        assert isinstance(case.turns, Prefix) and [turn.position for turn in case.turns] == list(range(at))
        assert case.future is not None and case.future.position == at and case.future.calls[0].arguments == {"to": "Leeds"}
        assert len(case.query.goal.split("\n")) == LONG - 1  # the session so far


def test_in_cut_histories_gold_lies_in_the_same_dialogue_of_an_earlier_session(tmp_path, perfect):
    cases, _ = read(tmp_path, {0: CITY, 11: ("Done.", [], {"to": "Leeds"})}, order="inter")
    assert len(cases) >= 5 and {case.kind for case in cases} == {"call, earlier session"}
    for case in cases:
        (place,) = case.relevant
        assert case.future is not None and case.turns[place].text == case.future.text.replace("Done.", "Stay in Leeds.")
        assert case.turns[place].session != case.future.session
        assert set(perfect(case).values()) == {1.0}
    assert [case.query.asked_at for case in cases] == sorted(case.query.asked_at for case in cases)
    again, _ = read(tmp_path, {0: CITY, 11: ("Done.", [], {"to": "Leeds"})}, order="inter")
    assert again == cases
    other, _ = read(tmp_path, {0: CITY, 11: ("Done.", [], {"to": "Leeds"})}, order="inter", seed=1)
    assert other != cases


def test_without_annotation_there_is_nothing_to_ask(tmp_path):
    bare = [dialogue(n, {0: CITY}) for n in range(8)]
    for one in bare:
        for turn in one["turns"]:
            turn["frames"] = [{"service": "Hotels", "service_call": None}]
    (tmp_path / "dialogues_001.json").write_text(json.dumps(bare))
    with pytest.raises(DataError, match=r"no question that can be asked.*folder of an SGD split"):
        list(Reuse(tmp_path).cases(Count()))


def test_a_bundled_question_is_asked_before_the_turn_that_answers_it(tmp_path, perfect):
    folder = people.bundled(tmp_path)
    cases = list(Reuse(folder).build().cases(count := Count()))
    assert (count.kept, len(cases), count.skipped) == (9, 9, {})
    assert {case.kind for case in cases} == {"call, earlier session"}
    for case in cases:
        at = case.query.asked_at
        assert at % 12 == 11 and len(case.turns) == at
        assert case.query.context == (at - 3, at - 2, at - 1)
        assert case.query.text.split("\n")[-1].endswith("Now reserve it as I told you.")
        assert case.future is not None and case.future.position == at and case.future.text == "It is reserved."
        (place,) = case.relevant
        assert case.future.calls[0].arguments["value"] in case.turns[place].text
        assert set(perfect(case).values()) == {1.0}
    people.write_lines(folder / "train.jsonl", people.native())
    with pytest.raises(DataError, match="no question"):
        list(Reuse(folder, split="train").cases(Count()))


def test_bundled_gold_in_the_context_or_of_an_unanswered_turn(tmp_path):
    def read_row(**fields):
        row = people.gold()[1] | fields
        return list(Reuse(people.bundled(tmp_path, rows=[row])).cases(Count()))

    (plain,) = read_row()
    (other,) = read_row(relevant=[["ana-0", 4], ["ana-1", 8]])  # the second is in the last three turns
    assert other.relevant == plain.relevant
    (own,) = read_row(relevant=[["ana-1", 6]])
    assert own.kind == "call, same session" and own.query.asked_at - own.relevant[0] == CONTEXT + 2
    for relevant in ([["ana-1", 8]], []):
        with pytest.raises(DataError, match="no value from before the context"):
            read_row(relevant=relevant)
    log = people.native()
    for line in log:
        line["turns"] = line["turns"][:11]
    with pytest.raises(DataError, match=r"gold\.jsonl:1.*a user's turn that the assistant answers"):
        list(Reuse(people.bundled(tmp_path, log, people.gold()[1:2])).cases(Count()))


@pytest.mark.skipif(not BUNDLED.is_dir(), reason="needs the bundled logs, data/bundled of a checkout")
def test_the_bundled_logs():
    cases = list(Reuse().cases(count := Count()))
    assert len(cases) == count.kept == 241 and not count.skipped
    assert all(case.future and not set(case.relevant) & set(case.query.context) for case in cases)
    assert {len(case.query.context) for case in cases} == {1, CONTEXT}  # one where the session has only begun
    assert Counter(case.kind for case in cases)["call, earlier session"] == 168


@pytest.mark.skipif(not REAL, reason="needs HINDSIGHT_SGD, the folder of the unpacked SGD with its train, dev and test")
@pytest.mark.parametrize(("order", "n"), [("concat", 1773), ("inter", 1900)])
def test_the_real_test_split(order, n):
    cases = list(Reuse(Path(REAL) / "test", order=order).cases(Count()))
    assert len(cases) == n
    assert len({case.query.user_id for case in cases}) == 150
