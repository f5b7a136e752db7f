import json
import os
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.beam import BeamReader, keyed, time_of
from hindsight.types import Count, DataError

REAL = os.environ.get("HINDSIGHT_BEAM", "")


def batch(number, *groups, anchor=None):
    return {"batch_number": number, "time_anchor": anchor, "turns": list(groups)}


def user(number, text, **fields):
    return {"role": "user", "id": number, "index": "1,1", "content": text, **fields}


def assistant(number, text):
    return {"role": "assistant", "id": number, "content": text}


def write(folder, *batches):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chat.json").write_text(json.dumps(batches))
    return folder


CHAT = (
    batch(1, [user(0, "I paint ->-> 1,1", time_anchor="March-15-2024"), assistant(1, "Nice\n->-> is odd\nyes")]),
    batch(2, [user(2, "a -> b ->-> 2,N/A, 4) "), assistant(3, "So? ->->  3,8")], anchor="April-01-2024"),
)


def test_markers_sessions_days_and_keys(tmp_path):
    ((dialogue, keys, folder),) = keyed(write(tmp_path / "100K" / "1", *CHAT), Count())
    assert [turn.text for turn in dialogue.turns] == ["I paint", "Nice\n->-> is odd\nyes", "a -> b", "So?"]
    assert [turn.time for turn in dialogue.turns] == ["2024-03-15", "2024-03-15", "2024-04-01", "2024-04-01"]
    sessions = [turn.session for turn in dialogue.turns]
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]
    assert keys == ["0", "1", "2", "3"] and folder == tmp_path / "100K" / "1"


def test_chats_go_by_number_and_ids_do_not_depend_on_where_one_starts(tmp_path):
    for size, number in (("100K", "10"), ("100K", "2"), ("500K", "2")):
        write(tmp_path / "chats" / size / number, batch(1, [user(0, f"{size}/{number}")]))
    write(tmp_path / "chats" / "500K" / "3", {"plan": 1})
    count = Count()
    read = list(BeamReader().read(tmp_path / "chats", count))
    assert [one.turns[0].text for one in read] == ["100K/2", "100K/10", "500K/2"]
    assert len({one.user_id for one in read}) == 3
    assert (count.kept, count.skipped, count.notes) == (
        3,
        {"no batches of turns": 1},
        {"batch left out: no list of turns": 1},
    )
    (alone,) = BeamReader().read(tmp_path / "chats" / "500K" / "2" / "chat.json", Count())
    assert alone == read[2]
    assert "500K" not in to_json(alone.turns[0].session) and "500K" not in alone.user_id


def test_bad_messages_are_noted(tmp_path):
    odd = batch(
        1, [user(0, None), {"role": "tool", "content": "x"}, 3, user(1, "kept", time_anchor="someday")], user(2, "flat")
    )
    count = Count()
    (dialogue,) = BeamReader().read(write(tmp_path / "a" / "1", odd), count)
    assert [(turn.position, turn.text, turn.time) for turn in dialogue.turns] == [(0, "kept", None), (1, "flat", None)]
    assert sorted(count.notes.values()) == [1, 3]


def test_wrong_paths_say_so(tmp_path):
    with pytest.raises(DataError, match=r"no chat\.json"):
        list(BeamReader().read(tmp_path, Count()))
    with pytest.raises(DataError, match="no such file"):
        list(BeamReader().read(tmp_path / "none", Count()))
    (tmp_path / "chat.json").write_text('[{"question_id": "q", "haystack_sessions": []}]')
    with pytest.raises(DataError, match="logs=longmemeval"):
        list(BeamReader().read(tmp_path / "chat.json", Count()))


@pytest.mark.parametrize(
    ("text", "time"), [("March-15-2024", "2024-03-15"), (None, None), ("March-32-2024", None), ("Mars-1-2024", None)]
)
def test_days(text, time):
    assert time_of(text, Count()) == time


@pytest.mark.skipif(not REAL, reason="needs HINDSIGHT_BEAM, BEAM's unpacked chats folder")
def test_the_real_chats():
    count = Count()
    turns = messages = 0
    for dialogue, keys, _ in keyed(Path(REAL), count):
        turns, messages = turns + len(dialogue.turns), messages + len(set(keys))
        assert not any("->->" in turn.text or not turn.time for turn in dialogue.turns)
    assert (count.kept, turns, messages, count.notes) == (55, 43790, 43790, {})
