import json
import random
from collections import Counter
from itertools import pairwise

import pytest

from hindsight.io import to_json
from hindsight.logs import sgd
from hindsight.logs.histories import SHORTEST, SIZE
from hindsight.logs.sgd_histories import SGDHistories
from hindsight.types import Count, DataError

SERVICES = ("Hotels_1", "Trains_2", "Music_3", "Banks_4")


def dialogue(number, services, each=6):
    """``each`` turns with every service in turn, a call in each last one."""
    turns = []
    for service in services:
        for place in range(each):
            frame = {"service": service, "actions": []}
            if place == each - 1:
                frame |= {"service_call": {"method": "Find", "parameters": {"n": str(number)}}, "service_results": []}
            words = f"turn {len(turns)} of chat {number} with {service.lower()}"
            turns.append({"speaker": ("USER", "SYSTEM")[place % 2], "utterance": words, "frames": [frame]})
    return {"dialogue_id": f"SOURCE_{number:05}", "services": list(services), "turns": turns}


def split(folder, dialogues=None, name="train"):
    folder = folder / name
    folder.mkdir(parents=True)
    made = dialogues or [dialogue(n, SERVICES[n % 3 : n % 3 + 1 + n % 2]) for n in range(24)]
    (folder / "dialogues_001.json").write_text(json.dumps(made[:12]))
    (folder / "dialogues_002.json").write_text(json.dumps(made[12:]))
    return folder


def keyed(folder, **options):
    return list(SGDHistories(**options).build().keyed(folder, Count()))


def sessions(turns):
    """Runs of turns of one session."""
    runs = []
    for one in turns:
        if not runs or runs[-1][-1].turn.session != one.turn.session:
            runs.append([])
        runs[-1].append(one)
    return runs


def test_a_history_is_eight_dialogues_and_no_dialogue_is_in_two(tmp_path):
    found = keyed(split(tmp_path), order="concat", histories=2)
    assert len(found) == 2
    sources = [{one.dialogue for one in turns} for _, turns in found]
    assert [len(own) for own in sources] == [SIZE, SIZE] and not sources[0] & sources[1]
    for history, turns in found:
        assert [turn.position for turn in history.turns] == list(range(len(turns)))
        assert [one.turn for one in turns] == list(history.turns)
        own = sessions(turns)
        assert len(own) == len({run[0].turn.session for run in own}) == SIZE
        assert all(len({one.dialogue for one in run}) == 1 for run in own)  # whole


def test_five_share_services_with_one_that_has_several(tmp_path):
    """Many dialogues share nothing, so chance alone would not bring them together."""
    rare = [dialogue(n, SERVICES[:2] if n == 0 else SERVICES[n % 2 : n % 2 + 1]) for n in range(6)]
    found = keyed(split(tmp_path, [*rare, *(dialogue(n, ("Banks_4",)) for n in range(6, 80))]), order="concat", histories=1)
    ((_, turns),) = found
    services = {one.dialogue: set() for one in turns}
    for one in turns:
        services[one.dialogue].add(one.service)
    assert 0 in services
    assert sum(bool(own & set(SERVICES[:2])) for own in services.values()) >= 5


def test_both_orders_hold_the_same_turns(tmp_path):
    found = keyed(split(tmp_path), histories=2)
    assert len(found) == len({history.user_id for history, _ in found}) == 4
    for (_, concat), (_, inter) in zip(found[::2], found[1::2]):
        assert Counter(one.turn.text for one in concat) == Counter(one.turn.text for one in inter)
        assert [one.turn.text for one in concat] != [one.turn.text for one in inter]
        for number in {one.dialogue for one in inter}:  # of each dialogue in order
            texts = [[one.turn.text for one in turns if one.dialogue == number] for turns in (concat, inter)]
            assert texts[0] == texts[1]
        calls = [[one.turn.calls for one in turns if one.turn.calls] for turns in (concat, inter)]
        assert sorted(map(str, calls[0])) == sorted(map(str, calls[1])) and calls[0]
        assert {(one.turn.text, one.service, one.dialogue) for one in concat} == {
            (one.turn.text, one.service, one.dialogue) for one in inter
        }


def test_a_cut_piece_is_a_session_of_its_own_and_begins_where_the_service_changes(tmp_path):
    for _, turns in keyed(split(tmp_path), order="inter", histories=2):
        own = sessions(turns)
        assert len({run[0].turn.session for run in own}) == len(own) > SIZE
        assert all(len({(one.dialogue, one.service) for one in run}) == 1 for run in own)
        assert all(len(run) >= SHORTEST and run[0].turn.role == "user" for run in own)
        assert all(one[0].dialogue != two[0].dialogue for one, two in pairwise(own))


@pytest.mark.parametrize(("each", "lengths"), [(6, [6, 6, 6]), (4, [4, 4, 4]), (3, [9]), (2, [6])])
def test_no_short_piece_is_cut(tmp_path, each, lengths):
    """It stays with what comes next, and the last one with what came before."""
    three = [dialogue(n, SERVICES[:3], each) for n in range(SIZE)]
    ((_, turns),) = keyed(split(tmp_path, three), order="inter", histories=1)
    assert Counter(len(run) for run in sessions(turns)) == Counter(lengths * SIZE)


def test_no_id_tells_the_source_and_no_annotation_is_in_the_log(tmp_path):
    folder = split(tmp_path)
    plain = list(sgd.SGDReader().read(folder, Count()))
    known = {name for one in plain for name in (one.dialogue_id, one.user_id, one.turns[0].session, one.source)}
    seen = []
    for history in SGDHistories(histories=2).read(folder, Count()):
        text = to_json(history)
        assert not any(name in text for name in known) and "SOURCE" not in text
        assert "service" not in text and "Hotels_1" not in text
        seen += dict.fromkeys(turn.session for turn in history.turns)
    assert len(set(seen)) == len(seen)  # not even the same dialogue in the other order


def test_the_same_again_and_a_seed_gives_others(tmp_path):
    folder = split(tmp_path)
    both = keyed(folder, histories=2)
    assert keyed(folder, histories=2) == both
    assert keyed(folder, order="concat", histories=2) == both[::2]
    assert keyed(folder, order="inter", histories=2) == both[1::2]
    assert keyed(folder, histories=1) == both[:2]
    assert keyed(folder, histories=2, seed=1) != both
    state = random.getstate()
    keyed(folder)
    assert random.getstate() == state


def test_a_small_split_gives_as_many_histories_as_it_holds(tmp_path):
    twelve = [dialogue(n, SERVICES[n % 3 : n % 3 + 1 + n % 2]) for n in range(12)]
    count = Count()
    assert len(list(SGDHistories().keyed(split(tmp_path / "a", twelve), count))) == 2
    assert (count.kept, count.skipped) == (12, {})
    assert sum(count.notes.values()) == 199  # of 200 that were wanted
    assert len(keyed(split(tmp_path / "b", twelve[:SIZE]), order="concat")) == 1
    few = split(tmp_path / "c", twelve[: SIZE - 1])
    with pytest.raises(DataError, match=r"7 dialogues.*wanted 8 or more"):
        list(SGDHistories().read(few, Count()))
    with pytest.raises(DataError, match="several services"):
        list(SGDHistories().read(split(tmp_path / "d", [dialogue(n, SERVICES[:1]) for n in range(20)]), Count()))


def test_missing_annotation_is_no_error(tmp_path):
    """A dialogue without frames has no service, so nothing is cut."""
    bare = [dialogue(n, SERVICES[:2]) for n in range(SIZE)]
    for turn in bare[0]["turns"]:
        turn["frames"] = None
    for turn in bare[1]["turns"]:
        turn["frames"] = [{}, 3]
    del bare[2]["services"]
    ((_, turns),) = keyed(split(tmp_path, bare), order="inter")
    assert Counter(run[0].dialogue for run in sessions(turns)) == {n: 1 if n < 2 else 2 for n in range(SIZE)}
