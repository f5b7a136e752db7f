from hindsight.logs.crosswoz_histories import CrossWOZHistories
from hindsight.logs.histories import SHORTEST, SIZE
from hindsight.types import Count
from tests.logs.test_crosswoz import dialogue, system, user, write


def asks(domain, number, act="Request"):
    return user(f"第{number}个{domain}", (act, domain, "名称", ""))


def chat(number):
    """Two turns about a hotel, then six about a taxi from it, thanks last."""
    taxi = [user("打车", ("Inform", "酒店", "名称", "汉庭"), ("Select", "出租", "源领域", "酒店")), system("好")]
    thanks = [user("谢谢", ("General", "thank", "none", "none")), system("不客气")]
    return dialogue(*[asks("酒店", number), system("好")] * 2, *taxi, *thanks, goal=("酒店", "出租"))


def keyed(folder, **options):
    path = write(folder / "val.json", **{f"_{n}": chat(n) for n in range(SIZE + 3)})
    return list(CrossWOZHistories(**options).build().keyed(path, Count()))


def test_dialogues_are_joined_whole_or_cut_where_the_user_turns_to_another_domain(tmp_path):
    (whole, one), (cut, other) = keyed(tmp_path)
    assert [turn.position for turn in cut.turns] == list(range(8 * SIZE)) and whole.user_id != cut.user_id
    assert len({turn.session for turn in whole.turns}) == SIZE and len({turn.session for turn in cut.turns}) == 2 * SIZE
    assert sorted(turn.text for turn in whole.turns) == sorted(turn.text for turn in cut.turns)
    services = {}
    for turn in other:
        services.setdefault(turn.turn.session, []).append(turn.service)
    assert all(len(own) == SHORTEST and len(set(own)) == 1 for own in services.values())  # thanks stay with what they close
    assert {own[0] for own in services.values()} == {"酒店", "出租"}
    assert all(turn.frames[0]["content"] == turn.turn.text for turn in one)


def test_the_same_again_and_a_seed_gives_others(tmp_path):
    assert keyed(tmp_path) == keyed(tmp_path)
    assert keyed(tmp_path, order="inter") == keyed(tmp_path)[1:]
    assert keyed(tmp_path, seed=1) != keyed(tmp_path)
