import random
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.goal import unit
from hindsight.features.replay import moment, replay
from hindsight.labeler.asking import fitting_question
from hindsight.labeler.gated import KINDS, Gated
from hindsight.miner.turns import Turns
from hindsight.text import terms
from hindsight.types import Labelled, Query, Turn

ENCODER, PLAIN = HashingEncoder(32), Gated(least_pool=1)
SAID = [
    "My sister Nora keeps two parrots in Lisbon.",
    "How lovely for her.",
    "The dentist moved my appointment again.",
    "Noted, a late morning visit.",
    "I bought a blue kayak from Marek.",
    "Enjoy the river then.",
    "The boiler shows error F28 today.",
    "Call the plumber soon.",
    "Fine weather. What could I bring you?",
    "Perhaps some seeds, parrots love those, parrots of Lisbon.",
    "Thanks.",
    "Sure.",
]
ASKED = 9  # the answer's position
KAYAK = "Perhaps a paddle, Marek sells those, for the blue kayak."


def stream(texts=SAID, session=lambda i: "s", speakers=("Ana", "Bo"), roles=("user", "user")):
    return [Turn(i, session(i), speakers[i % 2], roles[i % 2], text) for i, text in enumerate(texts)]


def label(turns, labeler=PLAIN, user="u"):
    return labeler.label(turns, Turns().mine(turns, user, ""), ENCODER)


def changed(text, at=ASKED, texts=SAID):
    return stream([*texts[:at], text, *texts[at + 1 :]])


def sources(turns, one):
    names = {m.memory_id: m.sources[0] for m in Turns().mine(turns, "u", "")}
    return [names[use.memory_id] for use in one.uses]


def only(found, kind, at):
    (one,) = [one for one in found if (one.kind, one.query.asked_at) == (kind, at)]
    return one


def test_the_four_kinds_and_when_they_are_asked():
    turns = stream()
    found = label(turns)
    assert {one.kind for one in found} == set(KINDS)
    assert [one.query.asked_at for one in found] == sorted(one.query.asked_at for one in found)
    hq, rq = only(found, "HQ", ASKED), only(found, "RQ", 12)
    assert hq.query.text == rq.query.text == "What could Ana bring Bo?"  # the question alone, by who asked whom
    assert (hq.query.context, hq.hidden) == ((6, 7, 8), ())
    assert (rq.query.context, rq.hidden) == ((), (8,))
    assert (sources(turns, rq), rq.uses[0].gain) == ([9], 1.0)
    statements = {one.query.text: one for one in found if one.kind == "HP"}
    rng = random.Random(f"0:{ASKED}:{SAID[ASKED]}")
    assert statements[fitting_question(SAID[ASKED], "Bo", "Ana", rng)].query.asked_at == ASKED
    # each statement is asked for twice: at once, and at the end, where its own turn is the answer
    at_the_end = {one.query.text: sources(turns, one) for one in found if one.kind == "PQ"}
    for text, one in statements.items():
        assert at_the_end[text] == [one.query.asked_at]
    assert all(one.query.asked_at == 12 for one in found if one.kind in ("PQ", "RQ"))
    assert len({one.query.query_id for one in found}) == len(found)


def test_candidates_end_four_turns_before_the_future_and_the_question_is_out_of_its_own_past():
    turns = stream(SAID * 4)
    found, memories = label(turns), Turns().mine(turns, "u", "")
    asked = [one for one in found if one.kind in ("HQ", "HP")]
    assert max(one.query.asked_at - max(sources(turns, one)) for one in asked) >= 4
    for one in asked:
        assert max(sources(turns, one)) <= one.query.asked_at - 4
    for one in [one for one in found if one.kind == "RQ"]:
        ((_, past),) = replay(turns, memories, ENCODER, [one.query.asked_at])
        known = moment(past, one.query, one.hidden)
        (answer,) = sources(turns, one)
        assert one.hidden == (answer - 1,)
        assert answer in known.rows and answer - 1 not in known.rows


def test_the_teachers_best_memory_holds_the_new_words():
    for text, place in ((SAID[ASKED], 0), (KAYAK, 4)):
        turns = changed(text)
        hq = only(label(turns), "HQ", ASKED)
        assert sources(turns, hq)[0] == place and hq.quality > 0
        gains = [use.gain for use in hq.uses]
        assert gains == sorted(gains, reverse=True) and sum(gains) == pytest.approx(1, abs=1e-5)
        assert gains[0] > 2 * gains[1]
    (nothing,) = [one for one in label(changed("Hm, what?")) if one.kind == "HQ" and one.query.asked_at == ASKED]
    assert nothing.quality == 0


def test_the_teacher_is_the_recipe():
    """SCIENCE's formula, term by term."""
    turns = stream(SAID * 2)
    hq = only(label(turns), "HQ", 12 + ASKED)
    ((_, past),) = replay(turns, Turns().mine(turns, "u", ""), ENCODER, [12 + ASKED])
    known, future = moment(past, hq.query), f"Bo: {SAID[ASKED]}"
    new = [term for term in dict.fromkeys(terms(future)) if term not in {*terms(hq.query.text), "ana", "bo"}]
    encoded, asked = (ENCODER.encode([text])[0] for text in (future, f"Ana: {SAID[ASKED - 1]}"))
    both = unit(encoded.pooled + asked.pooled)
    parts = (
        (2, known.bm25(tuple(new))),
        (1.5, known.bm25_window),
        (1.5, known.maxsim(known.encoded)[1]),
        (1, known.cosine(both)),
        (1, known.maxsim(encoded)[1]),
    )
    score = np.sum([weight * (part - part.mean()) / part.std() for weight, part in parts], axis=0)
    order = np.argsort(-score, kind="stable")[:16]
    assert sources(turns, hq) == order.tolist()
    gain = np.exp(score[order][:8])
    np.testing.assert_allclose([use.gain for use in hq.uses[:8]], gain / gain.sum(), atol=1e-4)
    assert hq.quality == pytest.approx(parts[0][1].max())


def test_names_of_speakers_are_not_new_words():
    """Bo answers: a memory that only names Bo has not been used."""
    said = ["Bo is here.", *SAID[1:8], "Any news?", "Ask Bo.", *SAID[10:]]
    assert only(label(stream(said)), "HQ", ASKED).quality == 0
    assert only(label(stream(said, speakers=("Ana", "Cy"))), "HQ", ASKED).quality > 0


def test_of_sixteen_listed_memories_no_more_than_eight_share_the_gain():
    turns = stream(SAID * 3)
    hq = only(label(turns), "HQ", 24 + ASKED)
    gains = [use.gain for use in hq.uses]
    assert len(gains) == 16 and gains[0] > 0 and not any(gains[8:])
    small = only(label(turns, replace(PLAIN, top=2, listed=5)), "HQ", 24 + ASKED)
    assert sources(turns, small) == sources(turns, hq)[:5] and sum(use.gain > 0 for use in small.uses) == 2


def by_kind(found, *kinds):
    return [one for one in found if one.kind in kinds]


def test_hidden_ignores_the_future():
    """Another turn t changes which queries exist, and no label of one that still does."""
    hidden = replace(PLAIN, future="hidden")
    one, two = label(stream(), hidden), label(changed(KAYAK), hidden)
    assert only(one, "HQ", ASKED) == only(two, "HQ", ASKED)
    before = [[row for row in by_kind(rows, "HQ", "HP") if row.query.asked_at < ASKED] for rows in (one, two)]
    assert before[0] == before[1] and len(before[0]) >= 2
    assert {row.query.query_id for row in by_kind(one, "HP")} != {row.query.query_id for row in by_kind(two, "HP")}
    assert all(row.quality == 0 for row in one)
    real = label(stream()), label(changed(KAYAK))
    assert only(real[0], "HQ", ASKED) != only(real[1], "HQ", ASKED)


def test_shuffled_takes_the_future_from_elsewhere():
    shuffled = replace(PLAIN, future="shuffled")
    turns = stream(SAID * 3)
    real, other, hidden = (label(turns, one) for one in (PLAIN, shuffled, replace(PLAIN, future="hidden")))
    assert label(turns, shuffled) == other != label(turns, replace(shuffled, seed=1))
    assert [one.query.query_id for one in real] == [one.query.query_id for one in other]
    taught = [by_kind(rows, "HQ", "HP") for rows in (real, other, hidden)]
    assert sum(a.uses != b.uses for a, b in zip(taught[0], taught[1])) > len(taught[0]) / 2
    assert sum(a.uses != b.uses for a, b in zip(taught[1], taught[2])) > len(taught[0]) / 2
    # which turn a statement or a question was made of is of the future too
    apart = [by_kind(rows, "PQ", "RQ") for rows in (real, other, hidden)]
    assert sum(a.uses != b.uses for a, b in zip(apart[0], apart[1])) > len(apart[0]) / 2
    assert all(len(one.uses) == 1 for one in apart[0]) and all(len(one.uses) > 1 for one in apart[2])


def test_with_an_assistant_only_people_are_asked_about_and_no_reply_is_credited():
    turns = stream(SAID * 3, roles=("user", "assistant"))
    memory = {m.memory_id: m for m in Turns().mine(turns, "u", "")}
    found = label(turns)
    assert {one.kind for one in found} == {"HQ", "HP", "PQ"}
    assert all(turns[one.query.asked_at].role == "user" for one in by_kind(found, "HP"))  # a statement of theirs
    assert all(turns[one.query.asked_at - 1].role == "user" for one in by_kind(found, "HQ"))  # a question of theirs
    assert all(memory[max(one.uses, key=lambda use: use.gain).memory_id].role == "user" for one in found)
    # between people the same turns give more: replies of the other one too
    assert len(found) < len(label(stream(SAID * 3)))
    # and statements made of what a person told weigh most
    weight = {kind: sum(one.weight for one in by_kind(PLAIN.balance(found), kind)) for kind in ("HQ", "HP", "PQ")}
    assert weight["HQ"] < weight["HP"] < weight["PQ"]
    assert weight["PQ"] / weight["HQ"] == pytest.approx(4)


def test_shuffled_futures_are_of_the_same_role():
    turns = stream(SAID * 3, roles=("user", "assistant"))
    found = label(turns, replace(PLAIN, future="shuffled"))
    assert by_kind(found, "PQ")
    for one in by_kind(found, "PQ"):
        assert all(turns[place].role == "user" for place in sources(turns, one))


def test_a_question_in_another_session_or_by_the_system_is_not_answered():
    assert not [one for one in label(stream(session=lambda i: str(i // ASKED))) if one.kind in ("HQ", "RQ")]
    prompt = Turn(8, "s", "system", "system", "You are Bo, an assistant in Lisbon with two parrots. What could I bring you?")
    turns = [*stream()[:8], prompt, *stream()[9:]]
    found = label(turns)
    assert not by_kind(found, "HQ", "RQ")
    assert not [one for one in found if one.kind == "HP" and one.query.asked_at == 8]


def test_small_pools_ask_nothing():
    found = label(stream(), Gated(least_pool=6))
    assert {one.query.asked_at for one in by_kind(found, "HQ", "HP")} == {ASKED}
    assert by_kind(found, "PQ", "RQ")
    assert label(stream(), Gated(least_pool=13)) == label([]) == label(stream(SAID[:1])[:0]) == []


def rows(kind, qualities, user="u"):
    made = [Query(f"{user}{kind}{i}", user, "", "?", i) for i in range(len(qualities))]
    return [Labelled(query, (), kind, quality=quality) for query, quality in zip(made, qualities)]


LABELLED = [
    *rows("HQ", [float(i) for i in range(10)]), *rows("HP", [5.0, 1, 3, 2, 4]), *rows("PQ", [0.0] * 7), *rows("RQ", [0.0] * 3),
]  # fmt: skip


def totals(found):
    total = defaultdict(float)
    for one in found:
        total[one.kind] += one.weight
    return total


def test_balance_drops_the_least_novel_and_weighs_the_kinds():
    found = Gated().balance(LABELLED)
    assert Counter(one.kind for one in found) == {"HQ": 6, "HP": 3, "PQ": 7, "RQ": 3}
    assert {one.quality for one in found if one.kind == "HQ"} == {4, 5, 6, 7, 8, 9}
    assert {one.quality for one in found if one.kind == "HP"} == {3, 4, 5}
    total = totals(found)
    assert [total[kind] / total["HP"] for kind in KINDS] == pytest.approx([2, 1, 0.5, 1])
    assert sum(total.values()) == pytest.approx(len(found))  # one each on average
    assert len({one.weight for one in found if one.kind == "HQ"}) == 1


def test_balance_of_the_controls_and_of_what_is_missing():
    hidden = replace(Gated(), future="hidden").balance(LABELLED)
    assert len(hidden) == len(LABELLED)  # nothing is known of novelty
    assert totals(hidden)["HQ"] == pytest.approx(2 * totals(hidden)["HP"])
    assert len(replace(Gated(), future="shuffled").balance(LABELLED)) == len(Gated().balance(LABELLED))
    assert Gated().balance([]) == []
    alone = Gated(drop=0).balance(rows("PQ", [0.0] * 4))
    assert [one.weight for one in alone] == [1.0] * 4
    assert {one.kind for one in Gated().balance([*LABELLED, *rows("gold", [0.0])])} == {*KINDS, "gold"}


def test_the_order_of_users_is_irrelevant_and_the_same_log_gives_the_same_labels():
    logs = {user: stream(SAID[n:8] + SAID[8:] + SAID[: n + 2] + SAID) for n, user in enumerate(("a", "b", "c"))}
    found = {user: label(turns, user=user) for user, turns in logs.items()}
    assert {user: label(logs[user], user=user) for user in reversed(logs)} == found
    forward = Gated().balance([one for user in "abc" for one in found[user]])
    backward = Gated().balance([one for user in "cba" for one in found[user]])
    assert len(forward) > 20
    assert {one.query.query_id: one for one in forward} == {one.query.query_id: one for one in backward}


def test_any_question_and_its_answer_can_be_taught():
    """Such as a suite's: the answer is the future."""
    turns = stream()
    ((_, past),) = replay(turns, Turns().mine(turns, "u", ""), ENCODER, [12])
    known = moment(past, Query("q", "u", "", "Which birds does Nora own?", 12))
    answer = Turn(12, "", "assistant", "assistant", "two parrots")
    one = PLAIN.teach(known, (), answer)
    assert one is not None and sources(turns, one)[0] in (0, 9) and one.query is known.query
    assert np.isclose(sum(use.gain for use in one.uses), 1, atol=1e-5)
    ((_, nothing),) = replay(turns, [], ENCODER, [0])
    assert PLAIN.teach(moment(nothing, Query("q", "u", "", "?", 0)), (), answer) is None
