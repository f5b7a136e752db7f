"""A stand-in for the model: a text is likelier by the words that stand before it. The real ones: tests/lm."""

import sqlite3
from dataclasses import replace

import pytest

from hindsight.cli import main
from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.replay import moment, replay
from hindsight.labeler import lm_gain
from hindsight.labeler.lm_gain import SIGNAL, LmGain, context, gains, told
from hindsight.lm.cache import CachedLm
from hindsight.lm.local import Likelihood, LocalModel
from hindsight.miner.turns import Turns
from hindsight.stages import EXAMPLES
from hindsight.text import terms
from hindsight.train import examples
from hindsight.types import ConfigError, Query, ToolCall, Turn
from tests import people
from tests.conftest import SMALL
from tests.labeler.test_overlap import SAID, stream
from tests.lm.models import tiny

ENCODER = HashingEncoder(32)
ALL = LmGain(share=1.0, least_pool=1, folder="")


class Reader:
    """A nat for each distinct word of the target that was read before it; three for a word of a parenthesis."""

    fingerprint = "stand-in"

    def __init__(self):
        self.asked = []

    def likelihoods(self, prefix, middles, target):
        self.asked += [(prefix, middle, target) for middle in middles]
        words = set(terms(target))
        read = [(words & set(terms(prefix + middle)), words & set(terms(middle))) for middle in middles]
        return [Likelihood(-100.0 + len(both) + 2 * len(own), len(words)) for both, own in read]


@pytest.fixture
def reader(monkeypatch):
    one = Reader()
    monkeypatch.setattr(lm_gain, "opened", lambda model, folder: CachedLm(one, None))
    return one


def labelled(labeler, turns):
    memories = Turns().mine(turns, "u", "")
    return labeler.label(turns, memories, ENCODER), {m.memory_id: m.sources[0] for m in memories}


def by_query(found):
    return {one.query.query_id: one.uses for one in found}


def test_first_and_last_gains_and_the_likelihood_without(reader):
    """Two say the same: each is worth much alone, nothing as the last."""
    memories = ["(a red kite)\n", "(red kite it was)\n", "(a blue boat)\n"]
    first, last, without = gains(CachedLm(reader, None), "we talked\n", memories, 3, "Ann:", "red kite and boat")
    assert without == Likelihood(-100.0, 3)
    assert first == [6, 6, 3]
    assert last == [0, 0, 3]
    assert reader.asked[0] == ("we talked\n", "Ann:", " red kite and boat")
    assert gains(CachedLm(reader, None), "we talked\n", memories, 1, "Ann:", "red kite and boat")[:2] == (first, first)
    assert gains(CachedLm(reader, None), "we talked\n", memories, 2, "Ann:", "red kite and boat")[:2] == (first, [0, 0, 3])


def test_each_prompt_is_asked_once(reader):
    gains(CachedLm(reader, None), "", [f"({n})\n" for n in range(8)], 3, "A:", "x")
    assert len(reader.asked) == len(set(reader.asked)) == 1 + 8 + 1 + 3


def two_people():
    """The same turns between two people: each of them is asked about."""
    return [replace(turn, role="user") for turn in stream()]


def test_a_memory_that_helps_rises_and_one_that_does_not_falls(reader):
    taught, _ = labelled(ALL.taught, two_people())
    found, names = labelled(ALL, two_people())
    assert [one.query for one in found] == [one.query for one in taught]
    seven = [(one, two) for one, two in zip(taught, found) if one.query.asked_at == 7 and one.kind == "HP"]
    assert seven
    for before, after in seven:
        old, new = ({names[u.memory_id]: u.gain for u in one.uses} for one in (before, after))
        assert new[0] > old[0] and all(new[m] < old[m] for m in old if m != 0 and old[m] > 0)  # "parrots"
        assert sum(new.values()) == pytest.approx(sum(old.values()), abs=1e-5)
        assert "nats alone" in {names[u.memory_id]: u.evidence for u in after.uses}[0]
        assert (after.kind, after.quality, after.hidden) == (before.kind, before.quality, before.hidden)
    assert by_query(labelled(replace(ALL, weight=0.0), two_people())[0]).keys() == by_query(taught).keys()


def test_without_weight_the_gains_stay(reader):
    still, taught = (labelled(labeler, stream())[0] for labeler in (replace(ALL, weight=0.0), ALL.taught))
    for one, two in zip(still, taught):
        assert [use.gain for use in one.uses] == pytest.approx([use.gain for use in two.uses], abs=5e-6)


def test_the_budget_is_a_share_by_hash_and_a_larger_one_holds_the_smaller(reader):
    turns = stream([f"{text} number {n}" for n in range(6) for text in SAID])
    taught = by_query(labelled(ALL.taught, turns)[0])

    def read(share):
        found = by_query(labelled(replace(ALL, share=share), turns)[0])
        return {query for query, uses in found.items() if any("nats" in use.evidence for use in uses)}

    every, some, few = read(1.0), read(0.5), read(0.2)
    assert few < some < every and read(0.0) == set()
    assert 0.3 < len(some) / len(every) < 0.7
    rest = by_query(labelled(replace(ALL, share=0.5), turns)[0])
    assert all(rest[query] == taught[query] for query in rest.keys() - some)
    assert read(0.5) != {q for q in every if LmGain(share=0.5, seed=1)._chosen(q)}


def test_self_supervised_queries_keep_their_own_answer(reader):
    found, _ = labelled(ALL, stream())
    own = [one for one in found if one.kind in ("PQ", "RQ")]
    assert own and all([use.evidence for use in one.uses] == ["the turn itself"] for one in own)


def test_the_model_reads_the_context_and_never_what_comes_after_the_later_turn(reader):
    labelled(ALL, stream())
    for prefix, middle, target in reader.asked:
        at = next(n for n, text in enumerate(SAID) if target == f" {text}")
        assert prefix == "".join(f"{('User', 'Assistant')[n % 2]}: {SAID[n]}\n" for n in range(max(0, at - 3), at))
        assert middle.endswith(("User:", "Assistant:")[at % 2])
        assert all(text not in middle for text in SAID[max(0, at - 3) :])
    whole = by_query(labelled(ALL, stream())[0])
    poisoned = by_query(labelled(ALL, stream([*SAID[:8], "parrots sister kayak Lisbon", "blue dentist"]))[0])
    early = [q.query_id for q in (one.query for one in labelled(ALL, stream())[0]) if q.asked_at < 8]
    assert early and all(whole[query] == poisoned[query] for query in early)


def test_the_controls_read_no_true_future(reader):
    hidden = replace(ALL, future="hidden")
    assert labelled(hidden, stream()) == labelled(hidden.taught, stream()) and not reader.asked
    shuffled = replace(ALL, future="shuffled")
    assert labelled(shuffled, stream()) == labelled(shuffled, stream())
    asked_at = {prefix: target for prefix, _, target in reader.asked}
    true = {
        "".join(f"{('User', 'Assistant')[n % 2]}: {SAID[n]}\n" for n in range(at - 3, at)): f" {SAID[at]}"
        for at in range(4, 10)
    }
    assert (
        asked_at and sum(asked_at[prefix] != true[prefix] for prefix in asked_at.keys() & true.keys()) > len(asked_at) // 2
    )


def test_the_values_teacher(reader):
    call = ToolCall("1", "book", {"city": "Lisbon", "bird": "parrots"}, "done")
    turns = [*stream(SAID[:6]), replace(stream()[6], text="Book it, please."), replace(stream()[7], text="", calls=(call,))]
    labeler = replace(ALL, teacher="values")
    found, names = labelled(labeler, turns)
    (seven,) = [one for one in found if one.query.asked_at == 7]
    assert seven.kind == "call" and {names[use.memory_id] for use in seven.uses} == {0}
    assert seven.uses[0].gain == 1 and seven.uses[0].evidence.startswith("lisbon, parrots; ")
    assert reader.asked[-1][2] == " [call book(city=Lisbon, bird=parrots)]"
    shuffled = labelled(replace(labeler, future="shuffled"), turns)[0]
    assert all(0 <= use.gain <= 1 for one in [*found, *shuffled] for use in one.uses)
    assert labeler.balance(found) == labeler.taught.balance(found)


def test_teach_and_explain_are_as_label(reader):
    turns = stream()
    memories = Turns().mine(turns, "u", "")
    query = Query("q", "u", "", "What shall I bring my sister?", 7, context=(4, 5, 6))
    for _, past in replay(turns, memories, ENCODER, [7]):
        known = moment(past, query)
        label, parts = ALL.explain(known, turns[4:7], ALL.asked(turns, "u")[-1][1], turns[7])
        assert label is not None and known.rows.tolist() == list(range(4))
        assert parts[SIGNAL].argmax() == 0 and parts[SIGNAL].shape == known.rows.shape
        assert parts.keys() - {SIGNAL} == ALL.taught.explain(known, turns[4:7], label, turns[7])[1].keys()
        taught = ALL.teach(known, turns[4:7], turns[7])
        assert taught is not None and "nats" in taught.uses[0].evidence
        hidden = replace(ALL, future="hidden")
        assert hidden.teach(known, turns[4:7], turns[7]) == hidden.taught.teach(known, turns[4:7], turns[7])
        silent = replace(turns[7], text="")
        assert ALL.teach(known, turns[4:7], silent) == ALL.taught.teach(known, turns[4:7], silent)


def test_what_the_model_reads():
    query = Query("q", "u", "", "Where do I live?", 9)
    assert context(query, ()) == "Where do I live?\n"
    assert context(query, [Turn(0, "s", "Ann", "user", "a\nb"), Turn(1, "s", "x", "assistant", "")]) == "Ann: a b\n"
    call = ToolCall("1", "find", {"city": "Rome"}, "Hotel Roma")
    assert told(Turn(0, "s", "assistant", "assistant", "Here it is.", calls=(call,))) == "[call find(city=Rome)] Here it is."
    assert len(told(Turn(0, "s", "a", "assistant", "word " * 500)).split()) == lm_gain.WORDS


def test_wrong_settings_come_at_once():
    with pytest.raises(ConfigError) as raised:
        LmGain(share=2, top=0, shown=3)
    assert len(raised.value.problems) == 3


def test_the_cache_gives_the_same_and_a_stopped_run_goes_on(tmp_path):
    cold = Reader()
    rows = [("p", ["a red", "kite", "a red"], "red kite"), ("q", ["kite"], "kite")]
    first = [CachedLm(cold, tmp_path).likelihoods(*row) for row in rows]
    assert len(cold.asked) == 3  # each once

    class Stops(Reader):
        def likelihoods(self, *asked):
            raise KeyboardInterrupt

    warm = CachedLm(Stops(), tmp_path)
    assert [warm.likelihoods(*row) for row in rows] == first and (warm.hits, warm.misses) == (3, 0)
    with pytest.raises(KeyboardInterrupt):
        warm.likelihoods("r", ["new"], "x")
    again = CachedLm(anew := Reader(), tmp_path)
    assert again.likelihoods("p", ["kite", "new"], "red kite")[0] == first[0][1]
    assert [middle for _, middle, _ in anew.asked] == ["new"]
    (file,) = tmp_path.glob("lm-*.sqlite")
    assert sqlite3.connect(file).execute("SELECT count(*) FROM likelihoods").fetchone() == (4,)
    other = Reader()
    other.fingerprint = "another"
    CachedLm(other, tmp_path).likelihoods(*rows[1])
    assert other.asked


def test_the_stage_with_a_real_model_is_the_same_cold_and_warm(tmp_path, monkeypatch):
    """The second time no model is loaded: all is in the cache."""
    log = people.write_lines(tmp_path / "log.jsonl", people.native())
    model = tiny(tmp_path / "model")
    given = [
        *(setting for setting in SMALL if setting.startswith(("encoder", "cache", "run.jobs", "labeler"))),
        f"run.folder={tmp_path}/runs", "labeler=lm_gain", f"labeler.model={model}", "labeler.dtype=float32",
        "labeler.share=0.2", f"labeler.folder={tmp_path}/kept",
    ]  # fmt: skip
    lm_gain.opened.cache_clear()
    assert main(["mine", f"logs.path={log}", *given[:3], f"run.folder={tmp_path}/runs"]) == 0
    assert main(["label", *given]) == 0
    labels = tmp_path / "runs" / "label" / "default" / EXAMPLES
    cold = list(examples.read(labels))
    read = [one for one in cold if any("nats alone" in use.evidence for use in one.uses)]
    assert 0 < len(read) < len(cold)
    lm_gain.opened.cache_clear()
    monkeypatch.setattr(LocalModel, "likelihoods", lambda *_: pytest.fail("the cache holds all"))
    assert main(["label", *given]) == 0
    assert list(examples.read(labels)) == cold
