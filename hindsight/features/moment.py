"""One query at one moment over some rows of a timeline: the signals that several features share, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from hindsight.features import cues
from hindsight.features.field import Field
from hindsight.features.postings import idf
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
    apart = values - np.float32(values.sum(dtype=np.float64) / len(values))
    return (apart / np.float32(np.sqrt(np.dot(apart, apart) / len(values)) + EPSILON)).astype(np.float32)


def highest_first(values: Floats) -> Ints:
    """Places by falling value; equal values go by row."""
    return np.argsort(-values, kind="stable")


class Moment(Field):
    """``rows``: the candidates, ascending. ``hidden``: rows that are taken out of the past. Use it before the timeline grows."""

    def __init__(self, past: Timeline, query: Query, rows: Ints, hidden: frozenset[int] = frozenset()) -> None:
        super().__init__(past, rows, hidden)
        self.query = query
        self._kept: dict[str, Floats] = {}

    def once(self, name: str, make: Callable[[], Floats]) -> Floats:
        """A column or a signal by name, made when it is first asked for."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    # -- the query ----------------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> list[str]:
        return self.query.text.split("\n")

    @cached_property
    def last_line(self) -> str:
        """What was said last: the query itself where it is one utterance."""
        return self.lines[-1]

    @cached_property
    def last(self) -> Moment:
        """The same moment, asked with the last utterance alone, without its speaker's label: what a question is, whatever was said
        before it. Itself where the query is one utterance."""
        if len(self.lines) == 1:
            return self
        query = replace(self.query, text=utterance(self.query.text), goal="")
        return Moment(self.past, query, self.rows, self.hidden)

    @cached_property
    def plain_query(self) -> str:
        """Without the speaker labels of a transcript."""
        if len(self.lines) == 1:
            return self.query.text
        return " ".join(line.split(": ", 1)[-1] for line in self.lines)

    @cached_property
    def encoded_lines(self) -> list[Encoded]:
        return self.past.encoder.encode(self.lines)

    @cached_property
    def encoded(self) -> Encoded:
        """A transcript's vectors are put together from its lines': those are known, since they are memories already."""
        return joined(self.encoded_lines)

    @cached_property
    def encoded_last(self) -> Encoded:
        return self.encoded_lines[-1]

    @cached_property
    def query_terms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(terms(self.plain_query)))

    @cached_property
    def about(self) -> str | None:
        return cues.asked_about(self.plain_query, list(self.past.speakers))

    @cached_property
    def asked_flags(self) -> Floats:
        """Cues of the query itself."""
        return cues.flags(self.plain_query)

    @cached_property
    def query_entities(self) -> frozenset[str]:
        return frozenset[str]().union(*(cues.entities(line.split(": ", 1)[-1]) for line in self.lines))

    @cached_property
    def session(self) -> int:
        """Number of the session that is going on; -1 where the query opens a new one."""
        return self.past.sessions.get(self.past.session_now, -1) if self.query.context else -1

    @cached_property
    def same_session(self) -> Floats:
        return (self.past.session.view[self.take] == self.session).astype(np.float32)

    # -- lexical ------------------------------------------------------------------------------------------------

    def _window_length(self, far: float) -> tuple[Floats, float]:
        """(terms in each candidate's window, mean over the past)."""
        past = self.past
        total = past.length_total + past.beside_total[1] + far * past.beside_total[2]
        return self.with_sides(past.length.view[self.field], far), total / max(1, len(past))

    def _held(self, words: tuple[str, ...]) -> tuple[Ints, Ints, Floats, Floats]:
        """Where the field holds these terms: (number of the term, place in the field, count); and each term's idf."""
        found = [self.past.postings.get(word) for word in words]
        sizes = np.array([len(rows) for rows, _ in found], np.int64)
        weight = np.where(sizes > 0, idf(len(self.past), sizes), 0).astype(np.float32)  # an unknown term has no say
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32), weight
        number, place = (
            np.repeat(np.arange(len(found)), sizes),
            self.places(np.concatenate([rows for rows, _ in found], dtype=np.int64)),
        )
        count, inside = np.concatenate([counts for _, counts in found]), place >= 0
        return number[inside], place[inside], count[inside], weight

    @cached_property
    def _query_held(self) -> tuple[Ints, Ints, Floats, Floats]:
        return self._held(self.query_terms)

    @cached_property
    def _query_counts(self) -> Floats:
        """(query terms, field) how often a row holds the term."""
        number, place, count, weight = self._query_held
        counts = np.zeros((len(weight), self.width), np.float32)
        counts[number, place] = count
        return counts

    @cached_property
    def _window_counts(self) -> Floats:
        """(query terms, candidates) how often the turn and its two neighbours hold the term."""
        return self.with_sides(self._query_counts)

    def bm25(self, words: tuple[str, ...]) -> Floats:
        """(candidates,) BM25 of distinct terms."""
        if len(self.rows) == 0:
            return np.zeros(0, np.float32)
        number, place, count, weight = self._query_held if words == self.query_terms else self._held(words)
        length = self.past.length.view
        mean = self.past.length_total / len(self.past)
        norm = K1 * (1 - B + B * length[self.field] / max(mean, EPSILON))
        score = np.bincount(place, weight[number] * (K1 + 1) * count / (count + norm[place]), self.width)
        return score[self.own].astype(np.float32)

    @cached_property
    def bm25_query(self) -> Floats:
        return self.bm25(self.query_terms)

    @cached_property
    def bm25_window(self) -> Floats:
        """(candidates,) BM25 of the query where term counts of the turn and its two neighbours are added."""
        return self._windowed(self._window_counts, *self._window_length(0.0))

    @cached_property
    def bm25_wide(self) -> Floats:
        """The same with half of what the turns two away hold."""
        return self._windowed(self.with_sides(self._query_counts, 0.5), *self._window_length(0.5))

    def _windowed(self, counts: Floats, length: Floats, mean: float) -> Floats:
        norm = np.float32(K1) * (1 - np.float32(B) + np.float32(B / max(mean, EPSILON)) * length)
        return np.float32(K1 + 1) * _over_terms(self._query_held[3], counts / (counts + norm))

    def coverage(self, without: Collection[str] = (), window: bool = False) -> Floats:
        """(candidates,) share of the query's idf mass that a candidate holds, 0..1; ``without`` some of its terms."""
        number, place, _, weight = self._query_held
        asked = weight * np.array([word not in without for word in self.query_terms], np.float32)
        single = np.bincount(place, asked[number], self.width)[self.own]
        held = _over_terms(asked, (self._window_counts > 0).astype(np.float32)) if window else single
        return (held / (float(asked.sum()) + EPSILON)).astype(np.float32)

    def news(self) -> Floats:
        """(candidates,) idf mass of a candidate's words that the query does not have: what it could add."""
        number, place, _, weight = self._query_held
        return self.past.postings.idf_mass(self.rows) - np.bincount(place, weight[number], self.width)[self.own].astype(
            np.float32
        )

    def sharing(self, entities: Collection[str]) -> Floats:
        """(candidates,) how many of these names and numbers a candidate holds."""
        rows = [row for entity in entities for row in self.past.with_entity(entity)]
        if not rows:
            return np.zeros(len(self.rows), np.float32)
        place = self.places(np.array(rows, np.int64))
        return np.bincount(place[place >= 0], minlength=self.width)[self.own].astype(np.float32)

    # -- dense --------------------------------------------------------------------------------------------------

    def cosine(self, vector: Floats) -> Floats:
        return self.past.pooled.view[self.take] @ vector

    @cached_property
    def _field_cosine(self) -> Floats:
        return self.past.pooled.view[self.field] @ self.encoded.pooled

    @cached_property
    def cosine_query(self) -> Floats:
        return self._field_cosine[self.own]

    @cached_property
    def cosine_window(self) -> Floats:
        """(candidates,) cosine of the query to the sum of the vectors of the turn and its neighbours, without building it."""
        past, (before, a), (_, b) = self.past, self.neighbour(-1), self.neighbour(1)
        squared = 1 + a + b + 2 * (a * past.dot_next.view[before] + b * past.dot_next.view[self.take])
        squared += 2 * a * b * past.dot_second.view[before]
        return (self.with_sides(self._field_cosine) / np.sqrt(np.maximum(squared, EPSILON))).astype(np.float32)

    # -- late interaction ---------------------------------------------------------------------------------------

    @cached_property
    def query_matches(self) -> Floats:
        """(candidates, query tokens)."""
        return self.past.best_matches(self.rows, self.encoded.tokens)

    def maxsim(self, encoded: Encoded) -> tuple[Floats, Floats]:
        """(candidates,) twice: mean over a text's tokens of the best match in the memory (ColBERT, Khattab and Zaharia 2020),
        plain and weighed by past idf of the token."""
        return self._weighed(self.past.best_matches(self.rows, encoded.tokens), encoded)

    @cached_property
    def maxsim_query(self) -> tuple[Floats, Floats]:
        return self._weighed(self.query_matches, self.encoded)

    @cached_property
    def maxsim_last(self) -> tuple[Floats, Floats]:
        """Of the last line, whose tokens are the query's last ones."""
        last = self.encoded_last
        return self._weighed(self.query_matches[:, len(self.encoded.tokens) - len(last.tokens) :], last)

    def _weighed(self, best: Floats, encoded: Encoded) -> tuple[Floats, Floats]:
        if best.size == 0:
            return np.zeros(len(self.rows), np.float32), np.zeros(len(self.rows), np.float32)
        both = best @ np.stack([np.full(best.shape[1], np.float32(1 / best.shape[1])), self.token_shares(encoded)], axis=1)
        return both[:, 0], both[:, 1]

    def token_shares(self, encoded: Encoded) -> Floats:
        """(tokens,) what each token of a text weighs by its past idf; they sum to 1."""
        frequency = np.array([self.past.pieces.get(p, 0) for p in encoded.pieces.tolist()], np.float32)
        # a piece that was never seen says nothing of rarity: weight 1, not the largest
        weight = np.where(frequency > 0, idf(len(self.past), frequency), 1.0).astype(np.float32)
        weight += 1e-3
        return weight / weight.sum()

    # -- standardised, for the features that look at neighbours, sessions and ranks -----------------------------------

    @cached_property
    def bm25_z(self) -> Floats:
        return zscore(self.bm25_query)

    @cached_property
    def cosine_z(self) -> Floats:
        return zscore(self.cosine_query)

    @cached_property
    def maxsim_idf_z(self) -> Floats:
        return zscore(self.maxsim_query[1])

    @cached_property
    def bm25_order(self) -> Ints:
        return highest_first(self.bm25_query)

    @cached_property
    def cosine_order(self) -> Ints:
        return highest_first(self.cosine_query)


def utterance(text: str) -> str:
    """The last line of a transcript, without its speaker's label; a text of one line as it is."""
    _, newline, last = text.rpartition("\n")
    return last.split(": ", 1)[-1] if newline else text


def match_together(moments: Sequence[Moment]) -> None:
    """Late interaction of several queries over one past in one pass, which costs half of what each alone would."""
    asked = [one for one in moments if len(one.rows)]
    if not asked:
        return
    low, high = min(int(one.rows[0]) for one in asked), max(int(one.rows[-1]) for one in asked) + 1
    tokens = np.concatenate([one.encoded.tokens for one in asked])
    best = asked[0].past.best_matches(np.arange(low, high, dtype=np.int64), tokens)
    ends = np.cumsum([len(one.encoded.tokens) for one in asked])
    for one, end in zip(asked, ends.tolist()):
        one.query_matches = best[one.rows - low, end - len(one.encoded.tokens) : end]


def _over_terms(weight: Floats, values: Floats) -> Floats:
    """(terms,), (terms, candidates) -> (candidates,). Not by BLAS, whose product of so few rows sets off false alarms of NaN."""
    return np.einsum("t,tc->c", weight, values)


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
