import sqlite3
from dataclasses import replace

import pytest

from hindsight.memory.ledger import Logged
from hindsight.memory.own import Erased
from hindsight.memory.store import APPLICATION, SCHEMA, StoreError, open_store
from hindsight.memory.traces import Shown, Trace, rates
from hindsight.types import DataError, ToolCall
from tests.memory.records import record, turn


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "store.db") as one:
        yield one


@pytest.fixture
def own(store):
    return store.user("ann")


def test_events_come_back_as_they_were(own):
    call = ToolCall("c1", "book", {"when": "2024-03-01", "deep": {"n": [1, None]}}, "done", "success")
    turns = [turn(0, "hello"), turn(1, "你好\n\0 'x'; DROP TABLE events; --", "assistant", calls=(call,)), turn(5, "late")]
    own.append(turns)
    own.append(turns[:1])  # again
    assert own.events() == turns
    assert own.events(1, 5) == turns[1:2]
    assert own.next_position() == 6


def test_another_turn_at_a_position_is_refused_and_nothing_of_the_call_is_kept(own):
    own.append([turn(0)])
    with pytest.raises(DataError, match="event 0"):
        own.append([turn(1), turn(0, "other")])
    assert [one.position for one in own.events()] == [0]


def test_every_field_of_a_record_comes_back(own, tmp_path):
    one = record("ann", "lives in Oslo", 0, 3, kind="fact", layer="semantic", origin="tool", about="user/city", value="oslo", written=5.5,
                 read=7.25, reads=3, expires=9.5, successor=None)  # fmt: skip
    memory = replace(
        one.memory, goal="g", action="a", feedback="f", outcome="failure", time="2024-01-01", confidence=0.25, importance=4.0
    )
    one = replace(one, memory=memory)
    own.write([one])
    with open_store(tmp_path / "store.db") as again:
        assert again.user("ann").records() == [one]
        assert again.user("ann").record(one.memory_id) == one


def test_the_past_of_a_memory_is_kept(own):
    one = record("ann", "lives in Oslo", 0)
    own.write([one], at=1.0, why="said so")
    own.edit(one.memory_id, "lives in Bergen", at=2.0, why="wrong city")
    own.archive([one.memory_id], at=3.0)
    own.restore([one.memory_id], at=4.0)
    new = record("ann", "lives in Rome", 5)
    own.supersede([one.memory_id], new, at=5.0, why="moved")
    told = [(v.version, v.event, v.text, v.at, v.why) for v in own.history(one.memory_id)]
    assert told == [
        (1, "written", "lives in Oslo", 1.0, "said so"),
        (2, "edited", "lives in Bergen", 2.0, "wrong city"),
        (2, "archived", "lives in Bergen", 3.0, ""),
        (2, "restored", "lives in Bergen", 4.0, ""),
        (2, "superseded", "lives in Bergen", 5.0, "moved"),
    ]
    assert own.records() == [new]
    assert own.record(one.memory_id).successor == new.memory_id
    with pytest.raises(DataError, match="superseded"):
        own.restore([one.memory_id])
    assert [one.kind for one in own.logged()] == ["written", "edited", "archived", "restored", "superseded"]


def test_links_never_go_in_a_circle(own):
    first, second, third = (record("ann", text, n) for n, text in enumerate(("Oslo", "Rome", "Bonn")))
    own.write([first])
    own.supersede([first.memory_id], second)
    own.supersede([second.memory_id], third)
    with pytest.raises(DataError, match="does not follow"):
        own.supersede([third.memory_id], replace(first, successor=None))
    with pytest.raises(DataError, match="does not follow"):
        own.supersede([third.memory_id], third)
    assert own.records() == [third]


def test_no_second_fact_of_one_thing_comes_into_force(own):
    oslo = record("ann", "Oslo", 0, kind="fact", about="user/home", value="oslo")
    rome = record("ann", "Rome", 1, kind="fact", about="user/home", value="rome")
    own.write([oslo])
    own.archive([oslo.memory_id])
    own.write([rome])
    with pytest.raises(DataError, match="another fact of user/home"):
        own.restore([oslo.memory_id])
    own.archive([rome.memory_id])
    own.restore([oslo.memory_id])
    assert [one.value for one in own.records()] == ["oslo"]


def test_reads_are_counted(own):
    one = record("ann", "Oslo", 0)
    own.write([one])
    own.read([one.memory_id, one.memory_id], at=4.0)
    own.read([one.memory_id], at=2.0)
    found = own.record(one.memory_id)
    assert (found.reads, found.read) == (3, 4.0)


def test_another_process_sees_what_changed(own, tmp_path):
    one, two = record("ann", "Oslo", 0), record("ann", "Rome", 1)
    own.write([one])
    with open_store(tmp_path / "store.db") as other:
        theirs = other.user("ann")
        seen = theirs.since()
        assert [r.memory_id for r in seen.records] == [one.memory_id]
        own.write([two])
        own.archive([one.memory_id])
        found = theirs.since(seen.change)
        assert {r.memory_id: r.status for r in found.records} == {one.memory_id: "archived", two.memory_id: "active"}
        assert not found.erased
        assert theirs.since(found.change).records == ()
        own.erase([one.memory_id])
        gone = theirs.since(found.change)
        assert gone.erased
        assert [r.memory_id for r in gone.records] == [two.memory_id]
        assert not theirs.since(gone.change).erased


SECRET = "Zanzibar-Quetzal-4711"


def test_what_is_erased_leaves_no_bytes(own, tmp_path):
    own.append([turn(n, f"filler {n} " + "x" * 50) for n in range(2, 400)])
    own.append([turn(0, f"I live at {SECRET}"), turn(1, "noted")])
    one = record("ann", f"User: I live at {SECRET}", 0)
    fact = record("ann", f"address {SECRET}", 0, kind="fact", about="user/address", value=SECRET)
    other = record("ann", "noted", 1)
    own.write([other, *(record("ann", f"filler {n}", n) for n in range(2, 400))])
    own.write([one, fact], why=f"because {SECRET}")
    own.edit(fact.memory_id, f"the address is {SECRET}", why=f"as {SECRET} said")
    own.put_vectors("enc", {one.memory_id: SECRET.encode("utf-16-le"), other.memory_id: b"other"})
    own.trace(Trace(1.0, 2, "trace words", 1, (Shown(one.memory_id, 1), Shown(other.memory_id, 2)), (one.memory_id,)))
    own.batch(0, 400)
    own.failed(0, f"no JSON: {SECRET}")
    assert SECRET.encode() in contents(tmp_path)
    gone = own.erase([one.memory_id], at=9.0)
    assert gone == Erased(tuple(sorted((one.memory_id, fact.memory_id))), (0,))
    left = contents(tmp_path)
    for kept in (SECRET, one.memory_id, fact.memory_id):
        assert kept.encode() not in left
        assert kept.encode("utf-16-le") not in left
    assert own.next_position() == 400
    assert [e.position for e in own.events(0, 3)] == [1, 2]
    assert own.traces() == [Trace(1.0, 2, "trace words", 1, (Shown(other.memory_id, 2),))]
    assert own.logged()[-1].kind == "erased"
    with pytest.raises(DataError, match="of this user"):
        own.record(one.memory_id)


def test_a_user_who_is_erased_was_never_there(store, own, tmp_path):
    own.append([turn(0, SECRET)])
    own.write([record("ann", SECRET, 0)])
    store.user("bob").write([record("bob", "bob's", 0)])
    own.erase_all()
    assert SECRET.encode() not in contents(tmp_path)
    assert b"ann" not in contents(tmp_path)
    assert store.users() == ["bob"]
    assert own.records() == [] and own.events() == [] and own.logged() == []


def contents(folder) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_all_that_is_known_is_exported(own):
    own.append([turn(0, "I live in Oslo")])
    one = record("ann", "I live in Oslo", 0)
    own.write([one])
    own.trace(Trace(1.0, 1, "budget", 1, (Shown(one.memory_id, 1, 0.5),)))
    found = own.export()
    assert found["events"][0]["text"] == "I live in Oslo"
    assert found["memories"][0]["memory"]["memory_id"] == one.memory_id
    assert found["memories"][0]["history"][0]["event"] == "written"
    assert found["traces"][0]["shown"][0]["chance"] == 0.5
    assert [row["kind"] for row in found["audit"]] == ["written"]


def test_a_batch_is_consolidated_whole_or_not_at_all(own):
    own.batch(0, 5)
    own.batch(5, 9)
    with pytest.raises(DataError, match="another batch"):
        own.batch(8, 12)
    assert own.batched() == 9
    with pytest.raises(RuntimeError), own.settling(0):
        own.write([record("ann", "half", 1)])
        raise RuntimeError
    assert own.records() == []
    own.failed(0, "no JSON")
    assert (own.pending(), own.tries(0)) == ([(0, 5), (5, 9)], 1)
    with own.settling(0):
        own.write([record("ann", "whole", 1)])
    assert own.pending() == [(5, 9)]
    assert len(own.records()) == 1


def test_the_audit_log_keeps_what_it_is_given(own):
    own.log("recalled", ["a"], {"trigger": "budget", "k": 3}, at=2.0)
    assert own.logged() == [Logged(2.0, "recalled", ("a",), {"trigger": "budget", "k": 3})]


def test_rates():
    shown = (Shown("a", 1), Shown("b", 2))
    traces = [Trace(0, 1), Trace(0, 2, "budget", 2, shown, ("a",)), Trace(0, 3, "five turns", 0)]
    found = rates(traces, [0.0, 1800.0, 3600.0])
    assert (found.turns, found.trigger, found.hit, found.citation, found.written_an_hour) == (3, 2 / 3, 1 / 2, 1 / 2, 3.0)
    assert rates([], []).trigger is None


def test_a_memory_of_another_user_is_refused(own):
    with pytest.raises(DataError, match="another user"):
        own.write([record("bob", "x", 0)])


def test_text_without_a_byte_form_is_refused(own):
    with pytest.raises(DataError, match="surrogates"):
        own.append([turn(0, "\ud800")])


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"", None], ids=["foreign", "empty", "other database"])
def test_a_file_of_something_else(tmp_path, content):
    path = tmp_path / "x.db"
    if content is None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE theirs (a)")
        other.commit()
        other.close()
    else:
        path.write_bytes(content)
    if content == b"":  # a new, empty file is a new store
        open_store(path).close()
        return
    before = path.read_bytes()
    with pytest.raises(DataError, match="wanted a store"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "x.db"
    open_store(path).close()
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    other.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    other.close()
    with pytest.raises(DataError, match="newer version"):
        open_store(path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        open_store(tmp_path / "no" / "x.db")


def test_a_full_disk_is_told(store, own):
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full"):
        own.append([turn(n, "x" * 4000) for n in range(50)])
    assert own.events() == []


def test_no_call_without_a_user(store):
    with pytest.raises(DataError, match="user_id"):
        store.user("")


def test_a_note_of_a_recall_does_not_wait_for_the_disk_and_a_write_does(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        own = store.user("ann")
        for flush, level in ((True, 2), (False, 1), (True, 2)):
            with own.together(flush=flush), store.writing() as database:
                assert database.execute("PRAGMA synchronous").fetchone()[0] == level
        with own.together(), own.together(flush=False), store.writing() as database:  # a part of a write is flushed with it
            assert database.execute("PRAGMA synchronous").fetchone()[0] == 2
