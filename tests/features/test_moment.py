"""Every signal against a loop that says what it is."""

from collections import Counter

import bm25s
import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.moment import Moment, zscore
from hindsight.features.neighbours import top_mean
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.text import terms
from hindsight.types import Encoded
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)
ASK = query("When did the piano lesson cost a ticket to Lisbon zebra?", 60)
ROWS = (np.arange(60), np.array([0, 1, 2, 9, 10, 13, 14, 15, 40, 59]))
HIDDEN = (frozenset(), frozenset({1, 10, 14, 30}))


class Dense:
    """Vectors with negative products, several tokens a text, a text without tokens."""

    fingerprint, dimension = "dense", 8

    def encode(self, texts):
        found = []
        for text in texts:
            rng = np.random.default_rng(sum(map(ord, text)))
            n = 0 if "!" in text else 1 + len(text) % 5
            vectors = -np.abs(rng.normal(size=(n, 8))) if len(text) % 2 else rng.normal(size=(n, 8))
            vectors = np.rint(127 * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.int8)
            pooled = rng.normal(size=8).astype(np.float32)
            pieces = rng.integers(0, 9, n).astype(np.int32)
            found.append(Encoded(pooled / np.linalg.norm(pooled), vectors, pieces))
        return found


def past_of(stream, encoder=ENCODER) -> Timeline:
    past = Timeline(encoder)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


def window(past: Timeline, row: int, hidden) -> list[int]:
    """The row and its neighbours in the same session that are not hidden."""
    inside = [r for r in (row - 1, row + 1) if 0 <= r < len(past) and r not in hidden]
    return [row, *(r for r in inside if past.memories[r].session == past.memories[row].session)]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_neighbours(rows, hidden):
    past = past_of(turns(60))
    moment = Moment(past, ASK, rows, hidden)
    values = np.arange(100, 100 + len(moment.rows)).astype(np.float32)
    at = dict(zip(moment.rows.tolist(), values))
    for offset in (-2, -1, 1, 2):
        beside, valid = moment.neighbour(offset)
        shifted = moment.shifted(values, offset)
        for i, row in enumerate(moment.rows.tolist()):
            other = row + offset
            good = 0 <= other < 60 and other not in hidden and past.memories[other].session == past.memories[row].session
            assert valid[i] == good and (not good or beside[i] == other)
            assert shifted[i] == (at.get(other, 0) if good else 0)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_bm25_by_a_loop(rows, hidden):
    past = past_of(turns(60))
    moment = Moment(past, ASK, rows, hidden)
    bags = [Counter(terms(m.text)) for m in past.memories]
    frequency = Counter(term for bag in bags for term in bag)
    spans = [window(past, row, frozenset()) for row in range(60)]
    for around in (False, True):
        lengths = [sum(sum(bags[r].values()) for r in (spans[row] if around else [row])) for row in range(60)]
        found = moment.bm25_window if around else moment.bm25(moment.query_terms)
        for i, row in enumerate(moment.rows.tolist()):
            own = window(past, row, hidden) if around else [row]
            length, wanted = sum(sum(bags[r].values()) for r in own), 0.0
            for term in moment.query_terms:
                count = sum(bags[r][term] for r in own)
                idf = np.log(1 + (60 - frequency[term] + 0.5) / (frequency[term] + 0.5))
                wanted += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / np.mean(lengths)))
            assert found[i] == pytest.approx(wanted, abs=1e-4)


def test_bm25_is_bm25s():
    past = past_of(turns(60))
    moment = Moment(past, ASK, np.arange(60))
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([list(terms(m.text)) for m in past.memories], show_progress=False)
    wanted = index.get_scores([t for t in moment.query_terms if t in index.vocab_dict])
    assert np.allclose(moment.bm25(moment.query_terms), 2.2 * wanted, atol=1e-5)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_coverage_and_news_by_a_loop(rows, hidden):
    past = past_of(turns(60))
    moment = Moment(past, ASK, rows, hidden)
    bags = [set(terms(m.text)) for m in past.memories]
    known = [t for t in moment.query_terms if past.postings.frequency(t)]
    mass = sum(past.postings.idf(t) for t in known)
    for around in (False, True):
        found = moment.coverage(window=around)
        for i, row in enumerate(moment.rows.tolist()):
            held = set().union(*(bags[r] for r in (window(past, row, hidden) if around else [row])))
            assert found[i] == pytest.approx(sum(past.postings.idf(t) for t in known if t in held) / mass, abs=1e-5)
    for i, row in enumerate(moment.rows.tolist()):
        wanted = sum(past.postings.idf(t) for t in bags[row] - set(moment.query_terms))
        assert moment.news()[i] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_cosine_of_the_window_is_that_of_the_sum_of_vectors(rows, hidden):
    past = past_of(turns(60), Dense())
    moment = Moment(past, ASK, rows, hidden)
    vector = moment.encoded.pooled
    found = moment.cosine_window
    for i, row in enumerate(moment.rows.tolist()):
        total = past.pooled.view[window(past, row, hidden)].sum(axis=0)
        assert found[i] == pytest.approx(float(total @ vector / np.linalg.norm(total)), abs=1e-4)
    for cosine in (moment.cosine(vector), moment.cosine_query):
        assert np.allclose(cosine, past.pooled.view[moment.rows] @ vector, atol=1e-6)


@pytest.mark.parametrize("rows", ROWS)
def test_maxsim_by_a_loop_also_where_all_products_are_negative(rows):
    past = past_of(turns(60), Dense())
    moment = Moment(past, ASK, rows)
    asked = Dense().encode(["abcd"])[0]
    plain, weighed = moment.maxsim(asked)
    seen = Counter(p for m in past.memories for p in set(Dense().encode([m.text])[0].pieces.tolist()))
    weight = [np.log(1 + (60 - seen[p] + 0.5) / (seen[p] + 0.5)) if seen[p] else 1.0 for p in asked.pieces.tolist()]
    weight = np.array(weight) + 1e-3
    negative = 0
    for i, row in enumerate(rows.tolist()):
        tokens = Dense().encode([past.memories[row].text])[0].tokens.astype(float) / 127
        if len(tokens) == 0:
            tokens = np.zeros((1, 8))
        best = np.array([max(float(q @ t) for t in tokens) for q in asked.tokens.astype(float) / 127])
        negative += int((best < 0).any())
        assert plain[i] == pytest.approx(best.mean(), abs=1e-5)
        assert weighed[i] == pytest.approx(best @ weight / weight.sum(), abs=1e-5)
    assert negative


def test_maxsim_of_a_query_without_tokens_is_zero():
    past = past_of(turns(60), Dense())
    plain, weighed = Moment(past, ASK, np.arange(60)).maxsim(Dense().encode(["!"])[0])
    assert not plain.any() and not weighed.any() and len(plain) == 60


def test_top_mean_by_a_loop():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, 40).astype(np.float32)
    group = rng.integers(0, 7, 40)
    wanted = [np.mean(sorted(values[group == g])[::-1][:3]) for g in group]
    assert np.allclose(top_mean(values, group), wanted)


def test_zscore():
    assert zscore(np.full(5, 3, np.float32)).tolist() == [0] * 5
    assert len(zscore(np.zeros(0, np.float32))) == 0
    found = zscore(np.array([1, 2, 3, 9], np.float32))
    assert abs(found.mean()) < 1e-6 and abs(found.std() - 1) < 1e-4


@pytest.mark.parametrize(
    ("text", "context", "about"),
    [
        ("When did I see it?", (), "user"),
        ("What was it that you told me?", (), "assistant"),
        ("Where is it?", (), None),
        ("Did Assistant say so?", (), "assistant"),
    ],
)
def test_whose_words_are_asked_for(text, context, about):
    assert Moment(past_of(turns(10)), query(text, 10, context=context), np.arange(10)).about == about


def test_labels_of_a_transcript_are_no_words_of_the_query():
    moment = Moment(past_of(turns(10)), query("user: red piano\nassistant: blue", 10), np.arange(10))
    assert moment.query_terms == terms("red piano blue") and moment.last_line == "assistant: blue"
