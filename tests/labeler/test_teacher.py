"""What labelers share that read a teacher's candidates again."""

import pytest

from hindsight.labeler.gated import Gated
from hindsight.labeler.teacher import TEACHERS, chosen, futures, teacher
from hindsight.labeler.values import Values
from tests.system.stream import turns


def test_the_teacher_is_its_own_class_under_the_same_future():
    assert teacher("gated", "shuffled", 3, 0) == Gated(future="shuffled", seed=3)
    assert teacher("values", "real", 0, 9) == Values(least_pool=9)


def test_a_larger_share_holds_a_smaller_one_and_salts_differ():
    ids = [str(n) for n in range(2000)]
    few, many = ({one for one in ids if chosen("judge 0", one, share)} for share in (0.1, 0.3))
    assert few < many and 120 < len(few) < 280
    assert few != {one for one in ids if chosen("judge 1", one, 0.1)}
    assert not any(chosen("x", one, 0.0) for one in ids) and all(chosen("x", one, 1.0) for one in ids)


@pytest.mark.parametrize("name", TEACHERS)
def test_what_came_next_is_the_turn_itself_another_one_or_nothing(name):
    stream = turns(40)
    real = futures(teacher(name, "real", 0, 0), stream)
    assert real and all(turn.position == at for at, turn in real.items())
    assert any(turn.position != at for at, turn in futures(teacher(name, "shuffled", 0, 0), stream).items())
    assert futures(teacher(name, "hidden", 0, 0), stream) == {}
