import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindsight.suite.locomo import LoCoMo, resolved
from hindsight.types import Count, DataError

G04 = Path(__file__).parents[1] / "logs" / "files" / "G04_locomo_bad_evidence.json"


def sample(name, qa, lines=4):
    def session(s):
        return [
            {"speaker": "Ana" if i % 2 else "Bo", "dia_id": f"D{s}:{i}", "text": f"{name} {s} {i}"} for i in range(1, lines)
        ]

    days = {f"session_{s}_date_time": f"1:56 pm on {s} May, 2023" for s in (1, 2)}
    return {"sample_id": name, "conversation": {**days, "session_1": session(1), "session_2": session(2)}, "qa": qa}


def question(text="When?", evidence=("D1:1",), category: object = 4, **fields):
    return {"question": text, "answer": "x", "evidence": list(evidence), "category": category, **fields}


def write(path, *samples):
    path.write_text(json.dumps(samples))
    return path


def read(path, **options):
    return list(LoCoMo(path, **options).build().cases(count := Count())), count


def test_bad_evidence_is_repaired_or_left_out_and_all_is_counted(perfect):
    """Scenarios G04 and G05."""
    cases, count = read(G04)
    assert [case.query.text for case in cases] == [
        "When does Ana run?", "two ids in one string", "space joined", "bad colon", "leading zero",
    ]  # fmt: skip
    assert [case.relevant for case in cases] == [(0,), (0, 2), (0, 2), (2,), (2,)]
    assert [case.kind for case in cases] == ["single-hop", "multi-hop", "multi-hop", "multi-hop", "temporal"]
    assert cases[-1].answers == ("2022",)
    assert all(set(perfect(case).values()) == {1.0} for case in cases)
    assert (count.seen, count.kept) == (9, 5)
    assert count.skipped == {"adversarial category": 1, "no evidence": 1, "no evidence that stands in the dialogue": 2}
    assert count.notes == {
        "evidence ids joined in one: split": 2,
        "evidence id repaired": 2,
        "evidence is no turn id: dropped": 1,
        "evidence id is not in the dialogue: dropped": 1,
        "session date without a session: left out": 1,
    }
    assert count.places["evidence is no turn id: dropped"] == ["G04_locomo_bad_evidence.json:0:qa4 D"]


def test_a_question_is_asked_at_the_end_and_the_past_is_shared(tmp_path):
    path = write(tmp_path / "a.json", sample("a", [question(), question("Where?")]), sample("b", [question()]))
    cases, _ = read(path)
    assert [case.query.asked_at for case in cases] == [6, 6, 6]
    assert cases[0].turns is cases[1].turns and len(cases[0].turns) == 6
    assert all(re.fullmatch("[0-9a-f]{16}", case.query.query_id) for case in cases)
    assert len({case.query.query_id for case in cases}) == 3 and len({case.query.user_id for case in cases}) == 2
    assert all(case.query.context == () and case.query.goal == "" and case.query.time is None for case in cases)


NAME = st.text("abcdefgh0123456789:D-", min_size=1, max_size=8).filter(lambda name: name.strip("-:"))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAME, min_size=14, max_size=14, unique=True))
def test_renaming_all_source_ids_changes_nothing_but_ids(tmp_path, names):
    """The leak test: a case is the same whatever the file's ids are, so no system can learn from them."""
    qa = [question(evidence=["D1:1", "D2:3"]), question("Who?", ["D2:2"], 1), question("Why?", ["D1:9", "D1:2"], 3)]
    samples = [sample("conv-1", qa), sample("conv-2", copy.deepcopy(qa))]
    plain, plain_count = read(write(tmp_path / "a.json", *samples))
    renamed = copy.deepcopy(samples)
    new = iter(names)
    for one in renamed:
        one["sample_id"] = next(new)
        ids = {"D1:9": "gone", **{f"D{s}:{i}": next(new) for s in (1, 2) for i in (1, 2, 3)}}
        for lines in (one["conversation"]["session_1"], one["conversation"]["session_2"]):
            for line in lines:
                line["dia_id"] = ids[line["dia_id"]]
        for asked in one["qa"]:
            asked["evidence"] = [ids[name] for name in asked["evidence"]]
    other, other_count = read(write(tmp_path / "b.json", *renamed))

    def bare(cases):
        order: dict[str, int] = {}

        def number(name):  # which ids are equal is kept, what they are is not
            return str(order.setdefault(name, len(order)))

        return [
            replace(
                case,
                query=replace(
                    case.query,
                    query_id=number(case.query.query_id),
                    user_id=number(case.query.user_id),
                    dialogue_id=number(case.query.dialogue_id),
                ),
                turns=[replace(turn, session=number(turn.session)) for turn in case.turns],
            )
            for case in cases
        ]

    assert bare(plain) == bare(other)
    assert len(plain) == 6 and plain_count.kept == other_count.kept
    said = str([case.query for case in other]) + str([turn for case in other for turn in case.turns])
    assert not any(name in said for name in names if len(name) > 6)


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        (["D1:1", "D1:1"], (0,)),
        (["D1:2;D1:1"], (0, 1)),
        (["D1:1,D1:2"], (0, 1)),
        (["D01:001"], (0,)),
        (["odd name; D1:2"], (1,)),
        (["odd name"], (2,)),  # an id that stands in the file is never taken apart
        ("D1:2", (1,)),
        ([None, 7, ""], ()),
    ],
)
def test_evidence(evidence, found):
    places = {"D1:1": 0, "D1:2": 1, "odd name": 2}
    assert resolved(evidence, places, "f:0:qa0", Count()) == found


def test_odd_questions_and_samples_are_counted(tmp_path):
    odd = ["?", {"answer": "x"}, question(category=6), question(category="4"), question(category=None), question(category=5)]
    path = write(
        tmp_path / "a.json", sample("a", odd), {**sample("b", []), "qa": None}, {"sample_id": "c"}, sample("d", [question()])
    )
    cases, count = read(path)
    assert len(cases) == 1
    assert count.skipped == {"no question": 2, "category is none of 1-5": 3, "adversarial category": 1}
    assert count.notes['sample without a list "qa"'] == 1
    assert count.notes['dialogue left out with its questions: no "conversation"'] == 1
    with pytest.raises(DataError, match=r"(?s)no question that can be asked.*no evidence \(b\.json:0:qa0\)"):
        read(write(tmp_path / "b.json", sample("a", [question(evidence=[])])))


def test_the_audit_corrects_what_it_lists_by_place(tmp_path):
    path = write(tmp_path / "a.json", {"broken": 1}, sample("a", [question(), question("Where?"), question("Who?")]))

    def entry(number, text, evidence):
        return {
            "question_id": f"locomo_1_qa{number}", "question": text, "error_type": "WRONG_CITATION",
            "correct_evidence": evidence, "correct_answer": "y",
        }  # fmt: skip

    audit = tmp_path / "errors.json"
    audit.write_text(json.dumps([entry(1, "Where?", ["D2:1", "D2:2"]), entry(2, "Who?", [])]))
    cases, count = read(path, corrected=audit)
    assert [(case.relevant, case.answers) for case in cases] == [((0,), ("x",)), ((3, 4), ("y",))]
    assert count.skipped == {"no evidence, says the audit": 1}
    assert count.notes["evidence corrected by the audit: WRONG_CITATION"] == 2
    audit.write_text(json.dumps([entry(1, "Another?", ["D2:1"])]))
    with pytest.raises(DataError, match="audit is of another file"):
        read(path, corrected=audit)
    audit.write_text('[{"question_id": "q1"}]')
    with pytest.raises(DataError, match="element 0"):
        read(path, corrected=audit)


def test_the_real_file(shared):
    cases, count = read(shared / "locomo" / "locomo10.json")
    assert len(cases) == count.kept == 1536
    assert count.skipped == {"adversarial category": 446, "no evidence": 4}
    kinds = [case.kind for case in cases]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "multi-hop": 282, "temporal": 321, "open-domain": 92, "single-hop": 841,
    }  # fmt: skip
    assert count.notes["evidence id repaired"] == 2 and count.notes["evidence ids joined in one: split"] == 4
    assert len({id(case.turns) for case in cases}) == len({case.query.user_id for case in cases}) == 10
    corrected, count = read(shared / "locomo" / "locomo10.json", corrected=shared / "locomo" / "errors.json")
    assert len(corrected) == 1535 and count.notes["evidence corrected by the audit: WRONG_CITATION"] == 57
