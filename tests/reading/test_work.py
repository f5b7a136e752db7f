"""Each reading is written down as it is done, is done once, and a stopped run goes on to the same bytes."""

import json
from dataclasses import dataclass, field

import pytest

from hindsight.inject import Injection
from hindsight.inject.prompt import Prompt
from hindsight.reading.conditions import Request, parse
from hindsight.reading.reader import Read
from hindsight.reading.work import Task, key_of, read_all, time_all


@dataclass
class Counted:
    """In a reader's place: its answer is how long the prompt is."""

    new: int = 4
    asked: list = field(default_factory=list)
    stop_after: int = 99

    def read(self, requests, targets):
        if len(self.asked) == self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(len(requests))
        return [Read(str(len(one.prompt.ids)), -1.5, len(target)) for one, target in zip(requests, targets)]


def tasks(reader, questions=5):
    found = []
    for number in range(questions):
        prompt = Prompt(tuple(range(10 + number)), ((1, 4),), (0,))
        requests = {"none": Request(Prompt(prompt.ids)), "plain": Request(prompt), "best-first": Request(prompt),
                    "log:1": Request(prompt, (0.5,), Injection())}  # fmt: skip
        for name, one in requests.items():
            found.append(Task(number, parse(name), 0, one, (1, 2), key_of("model", reader, one, (1, 2))))
    return found


def test_equal_prompts_are_read_once_and_the_longest_first(tmp_path):
    reader = Counted()
    known = read_all(reader, tasks(reader), 2, tmp_path / "answers.jsonl")
    assert reader.asked == [6, 6, 3] and len(known) == 15
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [line["reply"] for line in lines[:6]] == ["14"] * 3 + ["13"] * 3
    assert lines[0] == {"key": lines[0]["key"], "reply": "14", "nats": -1.5, "tokens": 2}


@pytest.mark.parametrize("torn", [False, True])
def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path, torn):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    read_all(Counted(), tasks(Counted()), 2, whole)
    first = Counted(stop_after=1)
    with pytest.raises(KeyboardInterrupt):
        read_all(first, tasks(first), 2, cut)
    if torn:
        cut.write_bytes(cut.read_bytes()[:-7])
    second = Counted()
    known = read_all(second, tasks(second), 2, cut)
    assert second.asked == ([6, 6, 3] if torn else [6, 3]) and len(known) == 15
    if not torn:
        assert cut.read_bytes() == whole.read_bytes()
    third = Counted()
    assert read_all(third, tasks(third), 2, cut) == known and third.asked == []


def test_the_key_is_of_all_that_decides():
    prompt = Prompt((1, 2, 3), ((0, 2),), (0,))
    one = Request(prompt, (0.5,), Injection())
    base = key_of("model", Counted(), one, (1,))
    others = [
        key_of("another", Counted(), one, (1,)),
        key_of("model", Counted(new=5), one, (1,)),
        key_of("model", Counted(), one, (2,)),
        key_of("model", Counted(), Request(prompt), (1,)),
        key_of("model", Counted(), Request(prompt, (0.6,), Injection()), (1,)),
        key_of("model", Counted(), Request(prompt, (0.5,), Injection(queries="after")), (1,)),
        key_of("model", Counted(), Request(Prompt((1, 2, 4), ((0, 2),), (0,)), (0.5,), Injection()), (1,)),
        key_of("model", Counted(), Request(Prompt((1, 2, 3), ((0, 1),), (0,)), (0.5,), Injection()), (1,)),
    ]
    assert len({base, *others}) == 9 and base == key_of("model", Counted(), one, [1])


def test_times_are_of_one_prompt_each_and_are_kept(tmp_path):
    reader = Counted()
    some = tasks(reader, 2)
    found = time_all(reader, some, tmp_path / "answers.jsonl")
    assert reader.asked == [1] * 9 and {name: len(times) for name, times in found.items()} == dict.fromkeys(
        ("none", "plain", "best-first", "log:1"), 2
    )
    again = Counted()
    assert time_all(again, some, tmp_path / "answers.jsonl") == found and again.asked == []
