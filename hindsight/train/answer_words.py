"""Learns which words go with which in question and answer, from raw logs: see ``features/answer_words.py``."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from hindsight.features.answer_words import CLIP, Table, asks, forms
from hindsight.io import to_json, write_text
from hindsight.miner.wording import said
from hindsight.text import QUESTION_MARKS, sentences
from hindsight.types import DataError, Turn

LEAST = 8  # pairs in which two words must stand together: below, chance alone gives large odds
LEAST_TURNS = 40  # of all turns: rarer words belong to a subject, not to a kind of answer
LEAST_ODDS, MOST_ODDS = 0.3, 3.0
AGREE = 2  # corpora (all of them, where there are fewer) that must show a pair: one alone teaches its subjects


def pairs(turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """(question sentences of a turn, the next turn), where somebody else answers within the session."""
    for asking, answer in pairwise(turns):
        if asking.session == answer.session and asking.speaker != answer.speaker and asking.role != "system":
            asked = " ".join(s for s in sentences(said(asking.text)) if s.endswith(QUESTION_MARKS))
            if asked:
                yield asked, said(answer.text)


def learn(corpora: Sequence[Iterable[Sequence[Turn]]]) -> Table:
    """Corpora of users' streams -> lower bounds (one standard error) of the log-odds of an answer's form given a question's.

    Raises DataError where no pair shows anything.
    """
    in_turns, in_questions, together = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    shown: defaultdict[tuple[str, str], set[int]] = defaultdict(set)  # pair -> corpora
    turns = 0
    for corpus, streams in enumerate(corpora):
        for stream in streams:
            spoken = [turn for turn in stream if turn.role != "system"]
            turns += len(spoken)
            for turn in spoken:
                in_turns.update(set(forms(said(turn.text))))
            for asked, answer in pairs(spoken):
                asking = asks(asked)
                in_questions.update(asking)
                for form in set(forms(answer)).difference(asking):
                    for ask in asking:
                        together[ask, form] += 1
                        shown[ask, form].add(corpus)
    table: dict[str, dict[str, float]] = {}
    for (ask, form), count in sorted(together.items()):
        if count < LEAST or in_turns[form] < LEAST_TURNS or len(shown[ask, form]) < min(AGREE, len(corpora)):
            continue
        odds = math.log(count * turns / (in_questions[ask] * in_turns[form])) - 1 / math.sqrt(count)
        if odds > LEAST_ODDS:
            table.setdefault(ask, {})[form] = round(min(odds, MOST_ODDS), 1)
    if not table:
        raise DataError("answer words", f"{turns} turns", "logs with more questions and answers")
    return table


def write(table: Table, sources: Mapping[str, object], path: Path) -> None:
    """``sources``: what each corpus is, its licence and hash."""
    rows = {ask: [part for pair in row.items() for part in pair] for ask, row in table.items()}
    write_text(path, to_json({"sources": dict(sources), "clip": CLIP, "weights": rows}) + "\n")
