import json
import zipfile
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.crosswoz import CrossWOZReader
from hindsight.types import Count, DataError

REAL = Path(__file__).parents[3] / "shared/data/crosswoz"
EMPTY = {"酒店": {"价格": "", "酒店设施": "", "selectedResults": []}, "出租": {"出发地": "", "selectedResults": []}}


def user(text, *acts):
    return {"role": "usr", "content": text, "dialog_act": [list(act) for act in acts], "user_state": ["SECRET"]}


def system(text, last=None, first=None, acts=()):
    """``last``: domain -> its slots after the turn; ``first``: before the wizard relaxed them, where that differs."""
    states = [
        {domain: slots | (given or {}).get(domain, {}) for domain, slots in EMPTY.items()} for given in (first or last, last)
    ]
    acts = [list(act) for act in acts]
    return {"role": "sys", "content": text, "dialog_act": acts, "sys_state_init": states[0], "sys_state": states[1]}


def dialogue(*messages, goal=("酒店",)):
    return {
        "sys-usr": [1, 2],
        "goal": [[n, domain, "名称", "", False] for n, domain in enumerate(goal)],
        "messages": messages,
    }


def write(path, **dialogues):
    path.write_text(json.dumps({name.lstrip("_"): one for name, one in dialogues.items()}, ensure_ascii=False), "utf-8")
    return path


def calls(path):
    (read,) = CrossWOZReader().build().read(path, Count())
    return [[(c.name, c.arguments, c.result, c.outcome) for c in turn.calls] for turn in read.turns]


def test_a_query_is_made_where_the_state_changes_and_holds_what_was_chosen(tmp_path):
    hotel = {"价格": "400-500元", "酒店设施": "洗衣服务 24小时热水", "selectedResults": ["汉庭", "如家"]}
    one = dialogue(
        user("400-500元的酒店，要洗衣服务"),
        system("推荐汉庭和如家。", {"酒店": hotel}),
        user("汉庭吧"),
        system("好的。", {"酒店": hotel | {"selectedResults": ["汉庭"]}}),  # chosen, not asked again
        user("打车去"),
        system("好。", {"酒店": hotel, "出租": {"出发地": "故宫", "selectedResults": ["出租 (故宫 - 汉庭)"]}}),
        user("谢谢"),
        system("不客气。", {}),  # an empty state asks for nothing
    )
    path = write(tmp_path / "val.json", _1=one)
    arguments = {"价格": "400-500元", "酒店设施": ["洗衣服务", "24小时热水"]}
    taxi = ("出租", {"出发地": "故宫"}, '["出租 (故宫 - 汉庭)"]', "unknown")
    assert calls(path) == [[], [("酒店", arguments, '["汉庭", "如家"]', "unknown")], [], [], [], [taxi], [], []]
    (read,) = CrossWOZReader().read(path, Count())
    assert [turn.role for turn in read.turns] == ["user", "assistant"] * 4
    assert [turn.position for turn in read.turns] == list(range(8))
    assert "SECRET" not in to_json(read) and read.source == "val.json:1"


def test_a_relaxed_query_is_a_second_one_and_the_first_failed_where_the_turn_says_so(tmp_path):
    first, last = {"酒店": {"价格": "100元以下"}}, {"酒店": {"价格": "200元", "selectedResults": ["汉庭"]}}
    refusal = ("NoOffer", "酒店", "none", "none")
    for acts, known in (([refusal], ("[]", "failure")), ([], (None, "unknown"))):
        path = write(tmp_path / "val.json", _1=dialogue(user("便宜的"), system("没有，推荐汉庭。", last, first, acts)))
        assert calls(path)[1] == [
            ("酒店", {"价格": "100元以下"}, *known),
            ("酒店", {"价格": "200元"}, '["汉庭"]', "unknown"),
        ]
        path = write(tmp_path / "val.json", _1=dialogue(user("便宜的"), system("没有。", first, acts=acts)))
        assert calls(path)[1] == [("酒店", {"价格": "100元以下"}, *known)]


def test_a_zip_a_folder_and_what_cannot_be_kept(tmp_path):
    bad = {"role": "robot", "content": "x"}
    half = {"role": "sys", "content": "好", "dialog_act": 3}
    write(tmp_path / "val.json", _1=dialogue(user("你好"), bad, half), _2={"messages": 3}, _3=dialogue(bad))
    with zipfile.ZipFile(tmp_path / "a.json.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._a.json", b"\0")
        archive.writestr("a.json", json.dumps({"1": dialogue(user("再见"))}))
    found = list(CrossWOZReader().read(tmp_path, count := Count()))
    assert [[turn.text for turn in one.turns] for one in found] == [["再见"]]
    assert count.skipped == {'no list "messages"': 1, "no turns": 1, "the same dialogue again": 1}
    assert sum(count.notes.values()) == 3
    two = write(tmp_path / "b.json", _1=dialogue(user("a")), _2=dialogue(user("b")))
    assert len({one.user_id for one in CrossWOZReader().read(two, Count())}) == 2


def test_other_files_say_what_they_look_like(tmp_path):
    (tmp_path / "a.json").write_text('[{"dialogue_id": "1", "turns": [{"utterance": "x"}]}]')
    with pytest.raises(DataError, match=r"SGD.*logs=sgd"):
        list(CrossWOZReader().read(tmp_path / "a.json", Count()))
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(DataError, match="CrossWOZ"):
        list(CrossWOZReader().read(tmp_path / "b.json", Count()))


@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/data/crosswoz")
@pytest.mark.parametrize(("name", "turns", "made"), [("val.json.zip", 8458, 2377), ("test.json.zip", 8476, 2362)])
def test_the_real_files(name, turns, made):
    found = list(CrossWOZReader().read(REAL / name, count := Count()))
    assert (count.kept, count.skipped, count.notes) == (500, {}, {})
    assert sum(len(one.turns) for one in found) == turns
    assert sum(len(turn.calls) for one in found for turn in one.turns) == made
