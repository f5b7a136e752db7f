import json
import os
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.sgd import SGDReader, keyed
from hindsight.types import Count, DataError

REAL = os.environ.get("HINDSIGHT_SGD", "")


def user(text, **state):
    return {"speaker": "USER", "utterance": text, "frames": [{"service": "Hotels_1", "state": state}]}


def system(text, *calls):
    frames = [{"service": "Hotels_1", **call} for call in calls] or [{"service": "Hotels_1"}]
    return {"speaker": "SYSTEM", "utterance": text, "frames": frames}


def call(method, results, **parameters):
    return {"service_call": {"method": method, "parameters": parameters}, "service_results": results}


def dialogue(name, *turns):
    return {"dialogue_id": name, "services": ["Hotels_1"], "turns": list(turns)}


def write(folder, name, *dialogues):
    (folder / name).write_text(json.dumps(dialogues))
    return folder


def test_calls_with_results_and_nothing_else_of_the_annotation(tmp_path):
    one = dialogue(
        "1_0",
        user("a hotel in Leeds", active_intent="SECRET"),
        system("Found one", call("Search", [{"city": "Leeds", "name": "Ritz"}], city="Leeds")),
        user("book it"),
        system("I could not", call("Book", [], name="Ritz")),
        system("Sorry", {"service_call": {"method": "Ask", "parameters": {}}}),
    )
    (read,) = SGDReader().read(write(tmp_path, "dialogues_001.json", one), Count())
    assert [turn.role for turn in read.turns] == ["user", "assistant", "user", "assistant", "assistant"]
    assert [turn.position for turn in read.turns] == [0, 1, 2, 3, 4]
    made = [(call.name, call.arguments, call.result, call.outcome) for turn in read.turns for call in turn.calls]
    assert made == [
        ("Search", {"city": "Leeds"}, '[{"city": "Leeds", "name": "Ritz"}]', "unknown"),
        ("Book", {"name": "Ritz"}, "[]", "failure"),
        ("Ask", {}, None, "unknown"),
    ]
    assert "SECRET" not in to_json(read) and "Hotels_1" not in to_json(read) and "1_0" not in to_json(read)


def test_a_folder_by_name_each_dialogue_its_own_user_and_bad_parts_counted(tmp_path):
    write(tmp_path, "dialogues_002.json", dialogue("b", user("hi")), dialogue("a", user("again")), {"turns": 3}, 4)
    write(tmp_path, "dialogues_001.json", dialogue("a", user(""), {"speaker": "ROBOT", "utterance": "x"}), dialogue("c"))
    (tmp_path / "schema.json").write_text("[]")
    count = Count()
    read = list(keyed(tmp_path, count))
    assert [(raw["dialogue_id"], keys) for _, keys, raw in read] == [("a", [0]), ("b", [0])]
    assert len({one.user_id for one, _, _ in read}) == 2
    assert read[0][0].turns[0].text == ""  # an empty turn stays, with nothing in it
    assert count.skipped == {"the same dialogue_id again": 1, 'no list "turns"': 2, "no turns": 1}
    assert sum(count.notes.values()) == 1


def test_missing_frames_are_no_error(tmp_path):
    bare = dialogue("1", {"speaker": "USER", "utterance": "hi"}, {"speaker": "SYSTEM", "utterance": "ho", "frames": None})
    (read,) = SGDReader().read(write(tmp_path, "dialogues_001.json", bare), Count())
    assert [turn.calls for turn in read.turns] == [(), ()]


def test_wrong_files_say_so(tmp_path):
    with pytest.raises(DataError, match="dialogues_"):
        list(SGDReader().read(tmp_path, Count()))
    write(tmp_path, "dialogues_001.json", {"batch_number": 1, "turns": []})
    with pytest.raises(DataError, match="logs=beam"):
        list(SGDReader().read(tmp_path / "dialogues_001.json", Count()))
    (tmp_path / "dialogues_001.json").write_text('[{"dialogue_id": "1", "tur')
    with pytest.raises(DataError, match="element 0"):
        list(SGDReader().read(tmp_path, Count()))


@pytest.mark.skipif(not REAL, reason="needs HINDSIGHT_SGD, the folder of the unpacked SGD with its train, dev and test")
def test_the_real_test_split():
    count = Count()
    read = list(SGDReader().read(Path(REAL) / "test", count))
    assert len(read) == count.kept == 2921 and not count.skipped and not count.notes
    calls = [call for one in read for turn in one.turns for call in turn.calls]
    assert sum(len(one.turns) for one in read) == 49726 and len(calls) == 7658
