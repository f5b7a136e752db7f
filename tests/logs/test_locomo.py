import json
import locale
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.locomo import LoCoMoReader, keyed, time_of
from hindsight.types import Count, DataError

FILES = Path(__file__).parent / "files"
REAL = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo10.json"


def sample(**sessions):
    conversation = {"speaker_a": "Ana", "speaker_b": "Bo"}
    for name, lines in sessions.items():
        conversation[f"{name}_date_time"] = "1:56 pm on 8 May, 2023"
        conversation[name] = lines
    return {"sample_id": "conv-1", "conversation": conversation, "qa": []}


def write(path, *samples):
    path.write_text(json.dumps(samples))
    return path


def test_turns_sessions_photos_and_a_date_without_a_session():
    count = Count()
    ((dialogue, keys, raw),) = keyed(FILES / "G04_locomo_bad_evidence.json", count)
    assert keys == ["D1:1", "D1:2", "D1:3"]
    assert [turn.text for turn in dialogue.turns] == ["I run on Sundays", "[photo: a photo of a lake]", "and I paint"]
    assert [turn.speaker for turn in dialogue.turns] == ["Ana", "Bo", "Ana"]
    assert {turn.role for turn in dialogue.turns} == {"user"}
    assert {turn.time for turn in dialogue.turns} == {"2023-05-08T13:56:00"}
    assert len(raw["qa"]) == 9
    assert count.notes == {"session date without a session: left out": 1} and count.kept == 1


def test_read_gives_the_same_dialogues_without_ids_or_questions():
    (dialogue,) = LoCoMoReader().read(FILES / "G04_locomo_bad_evidence.json", Count())
    assert "D1:" not in to_json(dialogue) and "conv-x" not in to_json(dialogue)


def test_sessions_go_by_number_and_bad_parts_are_counted(tmp_path):
    def line(text):
        return {"speaker": "Ana", "dia_id": text, "text": text}

    rich = sample(session_10=[line("c")], session_2=[line("b"), {"text": "?"}], session_1=[line("a")], session_3=[])
    count = Count()
    ((dialogue, keys, _),) = keyed(write(tmp_path / "a.json", rich, rich, {"qa": []}, sample()), count)
    assert keys == ["a", "b", "c"] and len({turn.session for turn in dialogue.turns}) == 3
    assert count.skipped == {"the same sample_id again": 1, 'no "conversation"': 1, "no turns": 1}
    assert count.notes["turn left out: no speaker"] == 2  # once in each copy


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00"),
        ("12:05 pm on 1 June, 2023", "2023-06-01T12:05:00"),
        ("25:05 pm on 1 June, 2023", None),
        ("1:05 pm on 31 June, 2023", None),
        ("8 May", None),
    ],
)
def test_dates_do_not_depend_on_the_language(text, time):
    before = locale.setlocale(locale.LC_TIME)
    try:
        for name in ("C", "de_DE.UTF-8"):
            try:
                locale.setlocale(locale.LC_TIME, name)
            except locale.Error:
                continue
            count = Count()
            assert time_of(text, count) == time
            assert bool(count.notes) == (time is None)
    finally:
        locale.setlocale(locale.LC_TIME, before)


def test_wrong_and_cut_files_say_so(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    with pytest.raises(DataError, match="logs=openai"):
        list(keyed(path, Count()))
    path.write_text('[{"dialogue_id": "1", "turns": [{"utterance": "hi"}]}]')
    with pytest.raises(DataError, match="logs=sgd"):
        list(keyed(path, Count()))
    path.write_text("")
    with pytest.raises(DataError, match="empty"):
        list(keyed(path, Count()))
    path.write_text(json.dumps([sample(session_1=[{"speaker": "Ana", "text": "a"}])])[:-3])
    with pytest.raises(DataError, match="element 0"):
        list(keyed(path, Count()))
    with pytest.raises(DataError, match=r"locomo\*.json"):
        list(keyed(tmp_path, Count()))


@pytest.mark.skipif(not REAL.exists(), reason="needs the real LoCoMo file in ../shared/data")
def test_the_real_file():
    count = Count()
    read = list(keyed(REAL, count))
    assert len(read) == count.kept == 10
    assert sum(len(dialogue.turns) for dialogue, _, _ in read) == 5882
    assert len({turn.session for dialogue, _, _ in read for turn in dialogue.turns}) == 272
    assert all(len(set(keys)) == len(keys) == len(dialogue.turns) for dialogue, keys, _ in read)
    assert all(turn.time for dialogue, _, _ in read for turn in dialogue.turns)
    assert count.notes == {"session date without a session: left out": 16}
