from dataclasses import replace

from hindsight.audit.futures import APART, chosen, novel
from hindsight.audit.logs import mined
from hindsight.labeler.gated import Gated
from hindsight.labeler.overlap import Overlap
from hindsight.labeler.values import Values
from hindsight.logs.native import NativeReader
from hindsight.miner.turns import Turns
from hindsight.text import terms, without
from hindsight.types import Count
from tests import people


def streams(tmp_path, lines=None):
    path = people.write_lines(tmp_path / "log.jsonl", people.native() if lines is None else lines)
    return mined(NativeReader().read(path, Count()), Turns())


def test_a_text_without_what_is_known():
    assert without("We met Nora, in Lisbon!", terms("Where is Nora?")) == "We met , in Lisbon!"
    assert without("我去北京", terms("去北京")) == "我去  "  # 去 also stands in a pair that is new
    assert without("北京", terms("北京")) == ""
    assert without("Parrots parrot.", ()) == "Parrots parrot."


def test_the_placebo_is_no_memory_of_the_query_and_answers_the_same_kind_of_query(tmp_path):
    log = streams(tmp_path)
    for labeler in (Values(), Overlap(), Gated()):
        count = Count()
        found = chosen(log, labeler, 0, count)
        assert any(found), labeler
        for stream, own in zip(log, found):
            assert [one.asked.query.asked_at for one in own] == sorted(one.asked.query.asked_at for one in own)
            for one in own:
                assert one.future == stream.turns[one.asked.query.asked_at]
                assert one.other.role == one.future.role
                assert {call.name for call in one.other.calls} == {call.name for call in one.future.calls}
                if one.other in stream.turns:
                    apart = one.other.position - one.future.position
                    assert apart >= APART or (apart > 0 and one.other.session != one.future.session)


def test_what_the_placebos_own_query_says_is_no_news(tmp_path):
    log = streams(tmp_path)
    asked = {
        id(turn): one.query
        for stream in log
        for at, one in Overlap().asked(stream.turns, stream.user_id)
        for turn in [stream.turns[at]]
    }
    for own in chosen(log, Overlap(), 0, Count()):
        for one in own:
            query = asked[id(one.other)]
            assert set(terms(one.news.text)) == set(terms(one.other.text)) - set(terms(query.text))
            assert replace(one.news, text=one.other.text) == one.other
            assert novel(one.asked.query, one.news) <= novel(one.asked.query, one.other)


def test_a_limit_draws_the_same_moments_in_any_order_of_users(tmp_path):
    log = streams(tmp_path)
    some = {one.asked.query.query_id for own in chosen(log, Overlap(), 10, Count()) for one in own}
    turned = {one.asked.query.query_id for own in chosen(log[::-1], Overlap(), 10, Count()) for one in own}
    every = {one.asked.query.query_id for own in chosen(log, Overlap(), 0, Count()) for one in own}
    assert some == turned and len(some) == 10 and some < every


def test_a_moment_without_another_future_is_counted(tmp_path):
    lines = people.native(("ana",))[:1]
    count = Count()
    assert not any(chosen(streams(tmp_path, [lines[0] | {"turns": lines[0]["turns"][:6]}]), Overlap(), 0, count))
    assert count.skipped == {"no other future like its own": 5}
