import json
import os
import tarfile
from pathlib import Path

import pytest

from hindsight.suite.beam import Beam
from hindsight.types import Count, DataError


def write(folder, questions, messages=4):
    (folder / "probing_questions").mkdir(parents=True)
    turns = [{"role": ("user", "assistant")[i % 2], "id": i, "content": f"{folder.name} says {i}"} for i in range(messages)]
    (folder / "chat.json").write_text(json.dumps([{"batch_number": 1, "time_anchor": "March-15-2024", "turns": [turns]}]))
    if questions is not None:
        (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(questions))


def read(path):
    return list(Beam(path).build().cases(count := Count())), count


def test_kinds_evidence_in_every_shape_and_what_has_none(tmp_path, perfect):
    write(
        tmp_path / "100K" / "10",
        {
            "abstention": [{"question": "Did I?", "ideal_response": "no"}],
            "knowledge_update": [{"question": "Now?", "answer": 250, "source_chat_ids": {"old": [2], "new": [0, 2]}}],
            "summarization": [{"question": "All?", "ideal_summary": "s", "source_chat_ids": []}],
            "event_ordering": [{"question": "Order?", "answer": "o", "source_chat_ids": [3, 99]}],
            "temporal_reasoning": [{"question": "When?", "answer": "t", "source_chat_ids": [77]}],
        },
    )
    write(tmp_path / "100K" / "9", {"preference_following": [{"question": "What?", "source_chat_ids": [1]}]})
    write(tmp_path / "100K" / "11", None)
    cases, count = read(tmp_path / "100K")
    assert [(case.kind, case.relevant, case.answers) for case in cases] == [
        ("preference_following", (1,), ()), ("knowledge_update", (0, 2), ("250",)), ("event_ordering", (3,), ("o",)),
    ]  # fmt: skip
    assert all(case.query.asked_at == 4 and set(perfect(case).values()) == {1.0} for case in cases)
    assert count.skipped == {"abstention": 1, "no evidence: summarization": 1, "no evidence that stands in the chat": 1}
    assert count.notes == {"evidence id is not in the chat: dropped": 2, "chat without probing questions": 1}
    assert count.seen == 6


def test_wrong_questions_are_errors_that_name_the_chat(tmp_path):
    for number, (body, wanted) in enumerate([([1], "probing questions"), ({"a": 1}, "list|question"), ({"a": [{}]}, "a 0")]):
        write(tmp_path / str(number) / "1", body)
        with pytest.raises(DataError, match=wanted):
            read(tmp_path / str(number))
    write(tmp_path / "cut" / "1", {})
    (tmp_path / "cut" / "1" / "probing_questions" / "probing_questions.json").write_text('{"a": [')
    with pytest.raises(DataError, match="probing_questions"):
        read(tmp_path / "cut")
    write(tmp_path / "none" / "1", {"abstention": [{"question": "?"}]})
    with pytest.raises(DataError, match="no question that can be asked"):
        read(tmp_path / "none")


@pytest.fixture
def chats(request, tmp_path):
    """The real 100K chats: unpacked already (HINDSIGHT_BEAM), or out of the archive in ../shared/data."""
    if unpacked := os.environ.get("HINDSIGHT_BEAM"):
        return Path(unpacked) / "100K"
    with tarfile.open(request.getfixturevalue("shared") / "beam" / "beam_100K_500K.tar.xz") as archive:
        for member in archive:
            if member.name.startswith("chats/500K"):
                break  # far larger, and last
            archive.extract(member, tmp_path, filter="data")
    return tmp_path / "chats" / "100K"


def test_the_real_chats(chats):
    cases, count = read(chats)
    assert len(cases) == count.kept == 355 and len({case.query.user_id for case in cases}) == 20
    assert count.skipped == {"abstention": 40, "no evidence: preference_following": 1, "no evidence: summarization": 4}
    assert not count.notes
