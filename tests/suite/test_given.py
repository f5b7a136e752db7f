"""CrossWOZ's gold; SGD's is in test_reuse."""

from pathlib import Path

import pytest

from hindsight.suite.reuse import Reuse
from hindsight.types import Count, DataError
from tests.logs.test_crosswoz import dialogue, system, user, write

REAL = Path(__file__).parents[3] / "shared/data/crosswoz"
LONG = 12


def told(domain, slot, value, act="Inform"):
    return (act, domain, slot, value)


def read(folder, lines, **options):
    """``lines``: place -> a message. A history of eight dialogues that are alike."""
    messages = [lines.get(place) or (system("嗯。") if place % 2 else user("嗯。")) for place in range(LONG)]
    path = write(folder / "val.json", **{f"_{n}": dialogue(*messages, goal=("酒店", "出租")) for n in range(8)})
    return list(Reuse(path, **options).build().cases(Count()))


def gold(folder, lines):
    """(place asked, kind) -> places of gold in the same dialogue, which is the same in all six that are not too early."""
    found = {}
    for case in read(folder, lines):
        begins = case.query.asked_at // LONG * LONG
        if begins >= 2 * LONG:
            own = tuple(place - begins for place in case.relevant)
            found.setdefault((case.query.asked_at - begins, case.kind), set()).add(own)
    assert all(len(own) == 1 for own in found.values())
    return {key: list(own.pop()) for key, own in found.items()}


HOTEL = {"价格": "400-500元", "酒店设施": "洗衣服务"}
WISH = user("要400-500元能洗衣的酒店", told("酒店", "价格", "400-500元"), told("酒店", "酒店设施-洗衣服务", "是"))
CALL, REPLY = "call, same session", "reply, same session"


def test_a_query_needs_what_was_told_of_the_same_slot(tmp_path):
    call = system("推荐汉庭。", {"酒店": HOTEL})
    assert gold(tmp_path, {2: WISH, 9: call}) == {(9, CALL): [2]}
    other = user("餐馆400-500元", told("餐馆", "人均消费", "400-500元"))
    assert gold(tmp_path, {0: other, 2: WISH, 9: call}) == {(9, CALL): [2]}
    refused = system("没有洗衣服务。", acts=[told("酒店", "酒店设施-洗衣服务", "否")])
    assert gold(tmp_path, {1: refused, 2: WISH, 9: call}) == {(9, CALL): [2]}
    with pytest.raises(DataError, match="no question"):
        read(tmp_path, {7: WISH, 9: call, 8: WISH})  # in the last three turns
    with pytest.raises(DataError, match="no question"):
        read(tmp_path, {0: other, 9: system("推荐汉庭。", {"酒店": {"价格": "400-500元"}})})


def test_a_name_is_needed_wherever_it_was_told(tmp_path):
    offer = system("推荐汉庭。", acts=[told("酒店", "名称", "汉庭", "Recommend")])
    taxi = system("好。", {"出租": {"出发地": "汉庭"}})
    assert gold(tmp_path, {1: offer, 9: taxi}) == {(9, CALL): [1]}
    about = system("汉庭评分4分，周边有故宫。", acts=[told("酒店", "名称", "汉庭"), told("酒店", "评分", "4分")])
    rated = system("评分4分。", acts=[told("酒店", "评分", "4分")])
    assert gold(tmp_path, {1: offer, 3: rated, 9: about}) == {(9, REPLY): [1]}  # a rating is what the database says now
    with pytest.raises(DataError, match="no question"):
        read(tmp_path, {1: offer, 8: user("从汉庭打车"), 9: taxi})


def test_what_was_left_behind_is_not_needed(tmp_path):
    """The first of a turn's two queries carries the old price; the last does not."""
    again = system("汉庭。", {"酒店": {"酒店设施": "洗衣服务"}}, first={"酒店": HOTEL})
    price, laundry = (
        user("嗯", act) for act in (told("酒店", "价格", "400-500元"), told("酒店", "酒店设施-洗衣服务", "是"))
    )
    assert gold(tmp_path, {0: price, 2: laundry, 9: again}) == {(9, CALL): [2]}


@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/data/crosswoz")
@pytest.mark.parametrize(("order", "n", "earlier"), [("concat", 83, 0), ("inter", 116, 91)])
def test_the_real_validation_set(order, n, earlier):
    cases = list(Reuse(REAL / "val.json.zip", order=order).cases(Count()))
    assert (len(cases), sum(case.kind.endswith("earlier session") for case in cases)) == (n, earlier)
    assert all(set(case.relevant).isdisjoint(case.query.context) for case in cases)
