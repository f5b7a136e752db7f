"""LoCoMo: questions about a long dialogue of two people, with the turns that answer them (Maharana et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hindsight.logs.locomo import keyed
from hindsight.logs.raw import name_of, read_json_list
from hindsight.suite.past import at_least_one, places_of, report
from hindsight.types import Case, Count, DataError, Dialogue, Query, opaque

# The numbers do not follow the order of the paper's table.
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ADVERSARIAL = 5
WANTED = "questions of categories 1-4 whose evidence stands in the dialogue"
_ID = re.compile(r"D:?(\d+):(\d+)")
_AUDIT_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_AUDIT_WANTED = "an entry of errors.json: question_id locomo_N_qaN, question, correct_evidence, correct_answer"
Audit = Mapping[tuple[int, int], dict[str, Any]]  # (sample's place, question's place) -> entry


@dataclass(frozen=True)
class LoCoMo:
    """Asked when the dialogue has ended. ``path``: locomo10.json. ``corrected``: the public audit (errors.json), whose
    evidence and answers then replace the file's for the questions that it lists."""

    path: Path
    corrected: Path | None = None
    name: ClassVar[str] = "locomo"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        gold = "raw, ids repaired" if self.corrected is None else "corrected by the public audit where it lists a question"
        return ("one dialogue is one user", "roles indexed: both speakers", f"evidence: {gold}", "category 5 left out")

    def build(self) -> LoCoMo:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """Users in the file's order, a user's questions too. Raises DataError where no question can be asked."""
        return at_least_one(self._cases(count), self.path, count, WANTED)

    def _cases(self, count: Count) -> Iterator[Case]:
        audit = {} if self.corrected is None else read_audit(self.corrected)
        reading = Count()
        for dialogue, keys, sample in keyed(self.path, reading):
            questions = sample.get("qa")
            if not isinstance(questions, list):
                count.note('sample without a list "qa"', place=dialogue.source)
                continue
            places = places_of(keys, dialogue.source, count)
            for number, question in enumerate(questions):
                entry = audit.get((int(dialogue.source.rpartition(":")[2]), number))
                case = _case(dialogue, places, question, number, entry, count)
                if case is not None:
                    count.keep()
                    yield case
        report(reading, count)


def _case(
    dialogue: Dialogue, places: Mapping[str, int], question: Any, number: int, entry: dict[str, Any] | None, count: Count
) -> Case | None:
    place = f"{dialogue.source}:qa{number}"
    text = name_of(question.get("question")) if isinstance(question, dict) else ""
    category = question.get("category") if text else None
    if not text or category not in (*KINDS, ADVERSARIAL):
        count.skip("category is none of 1-5" if text else "no question", place)
        return None
    if category == ADVERSARIAL:
        count.skip("adversarial category")
        return None
    evidence, answer = question.get("evidence"), question.get("answer")
    if entry is not None:
        if name_of(entry["question"]) != text:
            raise DataError(f"{place}", text, f"the audited question {entry['question']!r}: the audit is of another file")
        if entry["correct_evidence"] != evidence:
            count.note(f"evidence corrected by the audit: {name_of(entry.get('error_type'))}", place=place)
        evidence, answer = entry["correct_evidence"], entry.get("correct_answer", answer)
    if not evidence:
        count.skip("no evidence" if entry is None else "no evidence, says the audit", place)
        return None
    relevant = resolved(evidence, places, place, count)
    if not relevant:
        count.skip("no evidence that stands in the dialogue", place)
        return None
    query = Query(
        query_id=opaque("query", dialogue.user_id, number),
        user_id=dialogue.user_id,
        dialogue_id=dialogue.dialogue_id,
        text=text,
        asked_at=len(dialogue.turns),
    )
    return Case(query, dialogue.turns, relevant, KINDS[category], tuple(filter(None, [name_of(answer)])))


def resolved(evidence: object, places: Mapping[str, int], place: str, count: Count) -> tuple[int, ...]:
    """Evidence ids -> positions, rising. Joined ids are split, ``D:1:3`` and ``D1:03`` repaired; the rest is dropped. All noted."""
    found: set[int] = set()
    for text in map(name_of, evidence if isinstance(evidence, list) else [evidence]):
        parts = [text] if text in places else re.split(r"[;,\s]+", text)
        if len(parts) > 1:
            count.note("evidence ids joined in one: split", place=f"{place} {text}")
        for part in parts:
            mended = _ID.fullmatch(part)
            key = part if part in places or not mended else f"D{int(mended[1])}:{int(mended[2])}"
            if key not in places:
                what = "evidence id is not in the dialogue: dropped" if mended else "evidence is no turn id: dropped"
                count.note(what, place=f"{place} {part}")
                continue
            if key != part:
                count.note("evidence id repaired", place=f"{place} {part}")
            found.add(places[key])
    return tuple(sorted(found))


def read_audit(path: Path) -> Audit:
    """errors.json by (sample's place, question's place). Raises DataError, naming the entry, on anything else."""
    audit: dict[tuple[int, int], dict[str, Any]] = {}
    for number, entry in enumerate(read_json_list(path)):
        found = _AUDIT_ID.fullmatch(name_of(entry.get("question_id"))) if isinstance(entry, dict) else None
        if not found or not isinstance(entry.get("correct_evidence"), list) or "question" not in entry:
            raise DataError(f"{path}:element {number}", entry, _AUDIT_WANTED)
        audit[int(found[1]), int(found[2])] = entry
    return audit
