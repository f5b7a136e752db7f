from dataclasses import replace

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.labeler.overlap import Overlap
from hindsight.miner.turns import Turns
from hindsight.types import Turn

ENCODER, PLAIN = HashingEncoder(32), Overlap(least_pool=1)
SAID = [
    "My sister keeps two parrots in Lisbon.",
    "How lovely.",
    "The dentist moved my appointment.",
    "Noted.",
    "I bought a blue kayak.",
    "Enjoy the river.",
    "What shall I bring my sister?",
    "Perhaps seeds for the parrots.",
    "And my kayak?",
    "A paddle.",
]


def stream(texts=SAID, session=lambda i: "s"):
    roles = ("user", "assistant")
    return [Turn(i, session(i), roles[i % 2], roles[i % 2], text) for i, text in enumerate(texts)]


def label(turns, labeler=PLAIN):
    memories = Turns().mine(turns, "u", "")
    found = labeler.label(turns, memories, ENCODER)
    names = {m.memory_id: m.sources[0] for m in memories}
    return {one.query.asked_at: [(names[use.memory_id], use.gain) for use in one.uses] for one in found}, found


def test_a_memory_is_credited_for_words_that_the_context_does_not_have():
    """At 7, "parrots" is new: 0 holds it. At 6 "sister" is; at 8 "kayak". At 9 nothing earlier has a paddle."""
    found, rows = label(stream())
    assert found[7] == [(0, 1.0)]
    assert found[6][0] == (0, 1.0)
    assert found[8] == [(4, 1.0)]
    assert 9 not in found
    assert {one.query.asked_at: one.kind for one in rows}[7] == "assistant"
    assert all(one.weight == 1 for one in Overlap().balance(rows))


def test_turns_in_the_context_are_never_credited_and_their_words_are_not_novel():
    found, _ = label(stream([*SAID[:6], "My sister has parrots", "Your sister keeps parrots in Lisbon, you said?"]))
    assert found[7] == [(0, 1.0)]  # by Lisbon and keeps alone
    assert all(place < at - 3 for at, uses in found.items() for place, _ in uses)
    alone, _ = label(stream([*SAID[:6], "My sister keeps parrots in Lisbon", "Your sister keeps parrots in Lisbon?"]))
    assert 7 not in alone


@pytest.mark.parametrize("future", ["real", "hidden"])
def test_later_turns_change_no_label_and_earlier_labels_stay(future):
    labeler = Overlap(future=future, least_pool=1)
    whole, _ = label(stream(), labeler)
    poisoned, _ = label(stream([*SAID[:8], "parrots sister kayak Lisbon", "blue dentist"]), labeler)
    assert {at: uses for at, uses in whole.items() if at < 8} == {at: uses for at, uses in poisoned.items() if at < 8}


def test_the_controls_do_not_see_the_turn():
    changed = stream([*SAID[:7], "Look for the dentist.", *SAID[8:]])
    assert label(stream())[0][7] != label(changed)[0][7]
    hidden = Overlap(future="hidden", least_pool=1)
    assert label(stream(), hidden)[0][7] == label(changed, hidden)[0][7]
    shuffled = replace(hidden, future="shuffled")
    assert label(stream(), shuffled) == label(stream(), shuffled)
    assert label(stream(), shuffled)[0] != label(stream())[0]


def test_small_pools_first_turns_and_the_top_are_kept_to():
    assert label(stream(), Overlap(least_pool=6))[0].keys() <= {9}
    assert 6 not in label(stream(session=lambda i: str(i // 6)))[0]  # opens a session: nothing asked for it
    many = stream([*[f"the kayak {'of the coast ' * i}" for i in range(12)], *["Yes."] * 4, "And the kayak?"])
    uses = label(many, Overlap(least_pool=1, top=5))[0][16]
    assert len(uses) == 5
    assert [gain for _, gain in uses] == sorted((gain for _, gain in uses), reverse=True)
    assert uses[0] == (0, 1.0)  # the shortest


def test_nothing_to_label():
    assert label([])[1] == []
    assert label(stream(SAID[:3]))[1] == []
