"""What each condition shows, and what its bias is. Gold is seen by `oracle` alone."""

from dataclasses import replace

import pytest
import torch

from hindsight.inject.bias import Injection, logits_of
from hindsight.reading.conditions import BEGUN, SYSTEM, Condition, fitting, parse, request
from hindsight.reading.recalled import Recalled
from hindsight.suite.injection import CONDITIONS
from hindsight.types import ConfigError, Memory
from tests.inject.models import tokenizer

WORDS = tokenizer(None)
TEXTS = ("my boat is Rita", "I like rye", "the dog is Otto", "we ski")
# best first; position says how old
UTILITIES, POSITIONS = (0.4, 0.1, 0.06, 0.02), (7, 1, 9, 3)
MEMORIES = tuple(
    Memory(f"m{n}", "u", "d", "s", "turn", "user", "user", text, text, at, (at,), time=f"2024-05-0{at}T10:00:00Z")
    for n, (text, at) in enumerate(zip(TEXTS, POSITIONS))
)
FITS = Recalled(MEMORIES, UTILITIES)
OLDEST_FIRST = (1, 3, 0, 2)


def forbidden(memory):
    raise AssertionError("gold was looked at")


def asked(name, gold=forbidden, seed=0, fits=FITS):
    return request(parse(name), WORDS, "What is it?", fits, 4000, gold, seed, "q")


def shown(one):
    """The memories of a prompt, by their places in FITS, in the order in which it shows them."""
    lines = [WORDS.decode(one.prompt.ids[start:end]) for start, end in one.prompt.spans]
    return tuple(next(n for n, text in enumerate(TEXTS) if text in line) for line in lines)


@pytest.mark.parametrize(
    "name, order",
    [
        ("none", ()),
        ("plain", OLDEST_FIRST),
        ("best-first", (0, 1, 2, 3)),
        ("worst-first", (3, 2, 1, 0)),
        ("marks", OLDEST_FIRST),
        ("drop:.05", (1, 0, 2)),
        ("drop:.5", ()),
        ("drop:.2:relative", (1, 0)),
        ("drop:.05+worst-first", (2, 1, 0)),
    ],
)
def test_what_is_shown_and_in_which_order(name, order):
    one = asked(name)
    assert shown(one) == order and one.injection is None and one.scores == ()


def test_the_prompt():
    whole = WORDS.decode(asked("drop:.1").prompt.ids)
    lines = "- [memory 1 | 2024-05-01] I like rye\n- [memory 2 | 2024-05-07] my boat is Rita"
    assert whole.startswith(f"<bos>{SYSTEM}\n\n[memory] From earlier conversations:\n{lines}\n\n")
    assert whole.endswith(f"User: What is it?\n\nAssistant:{BEGUN}") and "s |" not in whole


def test_marks_say_the_utility_in_words():
    text = WORDS.decode(asked("marks").prompt.ids)
    assert "2024-05-07 | likely useful] my boat" in text and "2024-05-01 | perhaps useful] I like rye" in text
    assert "2024-05-09 | unlikely to be useful] the dog" in text


@pytest.mark.parametrize(
    "name, injection, scores",
    [
        ("log:1", Injection(), UTILITIES),
        ("log:.3:raw", Injection(strength=0.3, relative=False), UTILITIES),
        ("log:2:floor.1:after", Injection(strength=2.0, floor=0.1, queries="after"), UTILITIES),
        ("log:1:full.2", Injection(relative=False), (1.0, 0.5, 0.3, 0.1)),
        ("linear:5:pivot.3", Injection(strength=5.0, formula="linear", pivot=0.3), UTILITIES),
        ("share:.3", Injection(formula="share", target=0.3), UTILITIES),
    ],
)
def test_biases_see_the_plain_prompt_and_each_memory_its_own_score(name, injection, scores):
    one = asked(name)
    assert one.prompt == asked("plain").prompt and one.injection == injection
    assert one.scores == pytest.approx([scores[n] for n in OLDEST_FIRST])


def test_a_bias_with_a_drop_has_the_scores_of_what_is_left():
    one = asked("log:1+drop:.05")
    assert one.prompt == asked("drop:.05").prompt and one.scores == (0.1, 0.4, 0.06)
    assert asked("log:1+drop:.9").injection is None


def test_oracle_is_gold():
    one = asked("oracle+log:1", lambda memory: memory.memory_id == "m2")
    assert one.prompt == asked("plain").prompt and one.scores == (0.0, 0.0, 0.0, 1.0)
    assert shown(asked("oracle+drop:.5", lambda memory: memory.memory_id == "m2")) == (2,)
    assert shown(asked("oracle+drop:.5", lambda memory: False)) == ()


def test_shuffled_is_the_same_scores_elsewhere_by_seed_and_question():
    rows = {asked("shuffled+log:1", seed=seed).scores for seed in range(20)}
    assert len(rows) > 5 and all(sorted(row) == sorted(UTILITIES) for row in rows)
    assert asked("shuffled+log:1", seed=3) == asked("shuffled+log:1", seed=3)
    assert asked("shuffled+log:1").prompt == asked("plain").prompt


def test_uniform_is_the_mean_bias_for_all():
    one = asked("uniform+log:1")
    mean = float(logits_of(torch.tensor(UTILITIES, dtype=torch.float64), Injection()).mean())
    assert one.injection == Injection(formula="logits") and one.scores == pytest.approx([mean] * 4) and mean < -1
    assert asked("uniform+share:.3").scores == (1.0,) * 4


def test_no_condition_but_the_oracle_looks_at_gold():
    for name in CONDITIONS:
        if "oracle" not in name:
            asked(name)
        else:
            with pytest.raises(AssertionError):
                asked(name)


def test_the_budget_is_the_same_for_all_and_the_worst_go_first():
    def cost(fits, name):
        spans = asked(name, fits=fits).prompt.spans
        return sum(end - start for start, end in spans)

    few = fitting(WORDS, "What is it?", FITS, 160)
    assert 1 < len(few.memories) < 4 and few.memories == MEMORIES[: len(few.memories)]
    assert {cost(few, name) for name in ("plain", "best-first", "log:1")} == {cost(few, "worst-first")}
    fewer = fitting(WORDS, "What is it?", FITS, 160, marks=True)
    assert len(fewer.memories) < len(few.memories) and cost(fewer, "marks") <= 160
    assert fitting(WORDS, "What is it?", FITS, 5).memories == ()


@pytest.mark.parametrize(
    "name", ["", "bias", "log", "log:x", "log:1:odd", "drop", "drop:.1:odd", "oracle", "plain:1", "log:-1", "share:2", "log:1:full0"]
)  # fmt: skip
def test_names_that_are_none(name):
    with pytest.raises(ConfigError, match="condition"):
        parse(name)


def test_all_that_come_with_the_suite_are_known_and_two_are_the_same_but_for_the_name():
    assert [parse(name).name for name in CONDITIONS] == list(CONDITIONS)
    assert replace(parse("marks+best-first"), name="") == replace(parse("best-first+marks"), name="")
    assert parse("plain") == Condition("plain") and parse("shuffled+log:1").by_chance
