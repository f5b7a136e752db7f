"""One head speaks for a query, never both; what the gate reads decides, and it says why."""

import numpy as np
import pytest
import torch

from hindsight.features import matrix, need
from hindsight.scorer.head import BIAS, logits
from hindsight.scorer.linear import Linear
from hindsight.scorer.switch import Switch


@pytest.fixture(scope="module")
def switch():
    """Opinions everywhere; the gate reads ``says_has_question`` alone: a question is no task."""
    made = Switch().build()
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in made.parameters():
            weight.copy_(torch.randn(weight.shape, generator=draw))
        made.gate.straight.weight.zero_()
        made.gate.straight.weight[0, need.NAMES.index("says_has_question")] = -8.0
    made.gate_bias.fill_(4.0)
    made.ask.calibrate(0.7, -2.0)
    made.act.calibrate(0.9, -1.0)
    return made.eval()


def drawn(switch, question, rows=9):
    features = np.random.default_rng(0).standard_normal((rows, len(switch.columns))).astype(np.float32)
    features[:, switch.columns.index("says_has_question")] = question
    return features


def test_one_head_alone_scores(switch):
    for question, head, places in ((1.0, switch.ask, switch.asked), (0.0, switch.act, switch.acted)):
        features = drawn(switch, question)
        assert (switch.acting(features) > 0.5).all() == (question == 0.0)
        np.testing.assert_array_equal(
            logits(switch.contributions(features)), logits(head.contributions(features[:, places]))
        )


def test_rows_of_both_regimes_in_one_matrix_are_each_their_own(switch):
    mixed = np.concatenate([drawn(switch, 1.0), drawn(switch, 0.0)])
    apart = np.concatenate([logits(switch.contributions(drawn(switch, q))) for q in (1.0, 0.0)])
    np.testing.assert_allclose(logits(switch.contributions(mixed)), apart, atol=1e-5)


def test_the_reasons_sum_to_the_log_odds(switch):
    features = drawn(switch, 1.0)
    reasons = switch.reasons(features)
    assert set(reasons) == {*need.NAMES, BIAS}
    total = np.sum(list(reasons.values()), axis=0)
    np.testing.assert_allclose(1 / (1 + np.exp(-total)), switch.acting(features), rtol=1e-5)


def test_ask_reads_the_last_utterance_alone(switch):
    """So a transcript's other lines cannot change what a question finds."""
    assert all(c.endswith(matrix.LAST) or c in need.NAMES for c in switch.ask.columns)
    assert not any(c.endswith(matrix.LAST) for c in switch.act.columns)


def test_a_start_is_kept_where_the_hold_is_strong():
    head = Linear("travel", "cues", hold=0.5).build()
    head.standardise(np.zeros(len(head.columns), np.float32), np.full(len(head.columns), 0.5, np.float32))
    assert head.penalty().item() == 0.0
    weight = {
        c: w.item()
        for part, at in zip(head.parts, head.places)
        for c, w in zip([head.columns[i] for i in at], part.straight.weight[0])
    }
    assert weight["first_person@last"] / weight["maxsim_idf@last"] == pytest.approx(3.5 / 2.0)
    assert weight["answer_words@last"] == 0.0
    with torch.no_grad():
        head.parts[0].straight.weight += 1.0
    assert head.penalty().item() > 0.0


def test_both_heads_leave_columns_out():
    made = Switch(without=("outcome feedback", "speaker")).build()
    assert "outcome feedback" not in made.groups and not {"speaker@last", "called"} & set(made.columns)
    assert set(need.NAMES) <= set(Switch(without=("need",)).build().columns)  # the gate keeps its own
