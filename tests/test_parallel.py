"""Any number of processes gives the same, and an error in one of them is the error that the caller sees."""

import pickle

import pytest

from hindsight.parallel import each
from hindsight.types import ConfigError, DataError


def halved(number):
    if number % 2:
        raise DataError(f"line {number}", ValueError("odd"), "an even number")
    return number // 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_order_is_kept(jobs):
    assert list(each(halved, [8, 2, 6, 4], jobs, "halve")) == [4, 1, 3, 2]
    assert list(each(halved, [], jobs, "halve")) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_comes_back_whole(jobs):
    with pytest.raises(DataError, match=r"^line 3: got odd; wanted an even number$") as raised:
        list(each(halved, [2, 3, 4], jobs, "halve"))
    assert raised.value.place == "line 3" and raised.value.wanted == "an even number"


def test_errors_survive_a_copy():
    error = pickle.loads(pickle.dumps(ConfigError(["a is wrong", "b is missing"])))
    assert error.problems == ("a is wrong", "b is missing") and str(error) == "a is wrong\nb is missing"
    odd = pickle.loads(pickle.dumps(DataError("here", {1: lambda: 0}, "something")))
    assert str(odd).startswith("here: got {1: <function") and odd.place == "here"
