"""One query at one moment over some rows of a timeline: the signals that several features share, each computed once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hindsight.features import cues
from hindsight.features.timeline import Timeline
from hindsight.text import terms
from hindsight.types import Encoded, Floats, Ints, Query

# BM25 (Robertson and Zaragoza 2009), with Lucene's never-negative idf.
K1, B = 1.2, 0.75
EPSILON = 1e-6


def zscore(values: Floats) -> Floats:
    """Over the candidates: no raw scale reaches a head. All equal -> zeros."""
    if len(values) == 0:
        return values.astype(np.float32)
    return ((values - values.mean()) / (values.std() + EPSILON)).astype(np.float32)


class Moment:
    """``rows``: the candidates, ascending. ``hidden``: rows that are taken out of the past (they lend nothing to a window)."""

    def __init__(self, past: Timeline, query: Query, rows: Ints, hidden: frozenset[int] = frozenset()) -> None:
        self.past, self.query, self.hidden = past, query, hidden
        self.rows = rows if not hidden else rows[~np.isin(rows, list(hidden))]

    # -- the query ----------------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> list[str]:
        return self.query.text.split("\n")

    @cached_property
    def last_line(self) -> str:
        """What was said last: the query itself where it is one utterance."""
        return self.lines[-1]

    @cached_property
    def plain_query(self) -> str:
        """Without the speaker labels of a transcript."""
        if len(self.lines) == 1:
            return self.query.text
        return " ".join(line.split(": ", 1)[-1] for line in self.lines)

    @cached_property
    def encoded(self) -> Encoded:
        """A transcript's vectors are put together from its lines': those are known, since they are memories already."""
        return joined(self.past.encoder.encode(self.lines))

    @cached_property
    def encoded_last(self) -> Encoded:
        return self.encoded if len(self.lines) == 1 else self.past.encoder.encode([self.last_line])[0]

    @cached_property
    def query_terms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(terms(self.plain_query)))

    @cached_property
    def about(self) -> str | None:
        return cues.asked_about(self.plain_query, list(self.past.speakers))

    @cached_property
    def session(self) -> int:
        """Number of the session that is going on; -1 where the query opens a new one."""
        return self.past.sessions.get(self.past.session_now, -1) if self.query.context else -1

    # -- neighbours ---------------------------------------------------------------------------------------------

    def neighbour(self, offset: int) -> tuple[Ints, Floats]:
        """(row of each candidate's neighbour, 1 where it is in the same session and not hidden, else 0)."""
        total = len(self.past)
        beside = self.rows + offset
        inside = (beside >= 0) & (beside < total)
        beside = np.where(inside, beside, 0)
        session = self.past.session.view
        valid = inside & (session[beside] == session[self.rows])
        if self.hidden:
            valid &= ~np.isin(beside, list(self.hidden))
        return beside, valid.astype(np.float32)

    @cached_property
    def before(self) -> tuple[Ints, Floats]:
        return self.neighbour(-1)

    @cached_property
    def after(self) -> tuple[Ints, Floats]:
        return self.neighbour(1)

    def shifted(self, values: Floats, offset: int) -> Floats:
        """A candidate's value at its neighbour; 0 where that is no candidate."""
        beside, valid = self.neighbour(offset)
        if len(self.rows) == 0:
            return values
        place = np.minimum(np.searchsorted(self.rows, beside), len(self.rows) - 1)
        return (values[place] * (self.rows[place] == beside) * valid).astype(np.float32)

    # -- lexical ------------------------------------------------------------------------------------------------

    @cached_property
    def window_length(self) -> tuple[Floats, float]:
        """(terms in each candidate's 3-turn window, mean over the past)."""
        length, session = self.past.length.view, self.past.session.view
        (before, has_before), (after, has_after) = self.before, self.after
        own = length[self.rows] + has_before * length[before] + has_after * length[after]
        joined = (session[1:] == session[:-1]) * (length[1:] + length[:-1])
        return own, float((length.sum() + joined.sum()) / max(1, len(length)))

    def bm25(self, query_terms: tuple[str, ...], window: bool = False) -> Floats:
        """(candidates,) BM25 of distinct terms; with ``window``, term counts of the turn and its two neighbours are added."""
        score = np.zeros(len(self.rows), np.float32)
        past = self.past
        if len(past) == 0:
            return score
        if window:
            own, mean = self.window_length
            (before, has_before), (after, has_after) = self.before, self.after
        else:
            own, mean = past.length.view[self.rows], float(past.length.view.mean())
        norm = K1 * (1 - B + B * own / max(mean, EPSILON))
        scratch = np.zeros(len(past), np.float32)
        for term in query_terms:
            rows, counts = past.postings.get(term)
            if len(rows) == 0:
                continue
            scratch[rows] = counts
            count = scratch[self.rows]
            if window:
                count = count + has_before * scratch[before] + has_after * scratch[after]
            scratch[rows] = 0
            score += self.past.postings.idf(term) * count * (K1 + 1) / (count + norm)
        return score

    def coverage(self, query_terms: tuple[str, ...], window: bool = False) -> Floats:
        """(candidates,) share of the query's idf mass that a candidate holds, 0..1."""
        known = [t for t in query_terms if self.past.postings.frequency(t)]
        score, mass = np.zeros(len(self.rows), np.float32), 0.0
        scratch = np.zeros(len(self.past), bool)
        for term in known:
            rows = self.past.postings.get(term)[0]
            scratch[rows] = True
            held = scratch[self.rows]
            if window:
                (before, has_before), (after, has_after) = self.before, self.after
                held = held | (scratch[before] & (has_before > 0)) | (scratch[after] & (has_after > 0))
            scratch[rows] = False
            weight = self.past.postings.idf(term)
            score += weight * held
            mass += weight
        return score / (mass + EPSILON)

    def news(self) -> Floats:
        """(candidates,) idf mass of a candidate's words that the query does not have: what it could add."""
        past = self.past
        asked = set(self.query_terms)
        mass = past.postings.idf_mass()[self.rows]
        for term in asked:
            rows = past.postings.get(term)[0]
            if len(rows):
                held = np.zeros(len(past), np.float32)
                held[rows] = self.past.postings.idf(term)
                mass = mass - held[self.rows]
        return mass

    # -- dense --------------------------------------------------------------------------------------------------

    def cosine(self, vector: Floats) -> Floats:
        return self.past.pooled.view[self.rows] @ vector

    def cosine_window(self, vector: Floats) -> Floats:
        """(candidates,) cosine to the sum of the vectors of the turn and its neighbours, without building that sum."""
        past = self.past
        (before, a), (after, b) = self.before, self.after
        dot = past.pooled.view @ vector
        total = dot[self.rows] + a * dot[before] + b * dot[after]
        squared = 1 + a + b + 2 * (a * past.dot_next.view[before] + b * past.dot_next.view[self.rows])
        squared = squared + 2 * a * b * past.dot_second.view[before]
        return (total / np.sqrt(np.maximum(squared, EPSILON))).astype(np.float32)

    # -- late interaction ---------------------------------------------------------------------------------------

    def maxsim(self, encoded: Encoded) -> tuple[Floats, Floats]:
        """(candidates,) twice: mean over the query's tokens of the best match in the memory (ColBERT, Khattab and Zaharia
        2020), plain and weighed by past idf of the token."""
        if len(encoded.tokens) == 0 or len(self.rows) == 0:
            return np.zeros(len(self.rows), np.float32), np.zeros(len(self.rows), np.float32)
        total = len(self.past)
        frequency = np.array([self.past.pieces.get(p, 0) for p in encoded.pieces.tolist()], np.float32)
        # a piece that was never seen says nothing of rarity: weight 1, not the largest
        weight = np.where(frequency > 0, np.log(1 + (total - frequency + 0.5) / (frequency + 0.5)), 1.0).astype(np.float32)
        weight += 1e-3
        tokens, starts = self.past.token_vectors(self.rows)  # (T, d), (candidates,)
        similarity = tokens @ (encoded.tokens.astype(np.float32) / np.float32(127 * 127)).T  # (T, query tokens)
        best = np.maximum.reduceat(similarity, starts, axis=0)  # (candidates, query tokens)
        return best.mean(axis=1), (best @ weight) / weight.sum()


def joined(lines: Sequence[Encoded]) -> Encoded:
    """The vectors of several utterances as one text's: mean direction, and all tokens."""
    if len(lines) == 1:
        return lines[0]
    total = np.sum([line.pooled for line in lines], axis=0)
    return Encoded(
        (total / max(float(np.linalg.norm(total)), EPSILON)).astype(np.float32),
        np.concatenate([line.tokens for line in lines]),
        np.concatenate([line.pieces for line in lines]),
    )
