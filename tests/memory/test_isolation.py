"""No call of one user ever returns or changes what is another's, whatever their ids are."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.memory.own import Own
from hindsight.memory.store import open_store
from hindsight.memory.traces import Shown, Trace
from hindsight.types import DataError
from tests.memory.records import record, turn

# ids that a careless statement would mix up: patterns, quotes, comments, NUL, look-alikes, one a prefix of the other
USERS = (
    "ann", "Ann", "ann ", "an", "%", "_nn", "' OR '1'='1", "ann' --", 'a"b', "ann\0", "аnn", "ａｎｎ", "0", "None",
    "ann; DROP TABLE events",
)  # fmt: skip
TEXTS = ("Oslo", "Rome", "Oslo and Rome")

steps = st.lists(
    st.tuples(
        st.sampled_from(USERS),
        st.sampled_from(
            (
                "append",
                "write",
                "edit",
                "archive",
                "restore",
                "supersede",
                "read",
                "erase",
                "vectors",
                "trace",
                "batch",
                "all",
            )
        ),
        st.integers(0, 3),
        st.sampled_from(TEXTS),
    ),
    max_size=40,
)


def act(own: Own, what: str, place: int, text: str) -> None:
    """One call. Whose it is stands in every text, so that a foreign row shows."""
    one = record(own.user_id, f"<{own.user_id}> {text}", place)
    calls = {
        "append": lambda: own.append([turn(place, f"<{own.user_id}> {text}")]),
        "write": lambda: own.write([one]),
        "edit": lambda: own.edit(one.memory_id, f"<{own.user_id}> edited"),
        "archive": lambda: own.archive([one.memory_id]),
        "restore": lambda: own.restore([one.memory_id]),
        "supersede": lambda: own.supersede([one.memory_id], record(own.user_id, f"<{own.user_id}> new", place + 9)),
        "read": lambda: own.read([one.memory_id]),
        "erase": lambda: own.erase([one.memory_id]),
        "vectors": lambda: own.put_vectors("enc", {one.memory_id: own.user_id.encode()}),
        "trace": lambda: own.trace(Trace(1.0, place, "t", 1, (Shown(one.memory_id, 1),))),
        "batch": lambda: own.batch(place, place + 1),
        "all": own.erase_all,
    }
    try:
        calls[what]()
    except DataError:  # nothing of this user's to do that with
        return


def state(own: Own) -> str:
    return json.dumps([own.export(), own.pending(), sorted(own.vectors("enc")), own.since().change], sort_keys=True)


@settings(deadline=None, max_examples=60)
@given(steps)
def test_users_are_strictly_apart(found):
    with open_store(":memory:") as store:
        for user_id, what, place, text in found:
            before = {other: state(store.user(other)) for other in USERS if other != user_id}
            act(store.user(user_id), what, place, text)
            assert before == {other: state(store.user(other)) for other in before}
        for user_id in USERS:
            own = store.user(user_id)
            texts = [e.text for e in own.events()] + [r.memory.text for r in own.records("active", "archived", "superseded")]
            assert all(text.startswith(f"<{user_id}> ") for text in texts)
            assert all(r.memory.user_id == user_id for r in own.since().records)
            assert set(own.vectors("enc").values()) <= {user_id.encode()}


def test_a_foreign_id_is_as_unknown_as_none(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        one = record("ann", "Oslo", 0)
        store.user("ann").write([one])
        bob = store.user("bob")
        for call in (
            lambda: bob.record(one.memory_id),
            lambda: bob.history(one.memory_id),
            lambda: bob.edit(one.memory_id, "mine"),
            lambda: bob.erase([one.memory_id]),
            lambda: bob.archive([one.memory_id]),
            lambda: bob.read([one.memory_id]),
            lambda: bob.supersede([one.memory_id], record("bob", "new", 1)),
            lambda: bob.put_vectors("enc", {one.memory_id: b"x"}),
        ):
            try:
                call()
            except DataError as error:
                assert "Oslo" not in str(error)
            else:
                raise AssertionError("another user's memory was taken")
        assert store.user("ann").records() == [one]
        assert bob.records() == []
