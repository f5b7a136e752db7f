import sqlite3

import pytest

from hindsight.memory.doctor import examine
from hindsight.memory.store import open_store
from hindsight.types import DataError
from tests.memory.records import record, turn

ONE = record("ann", "Oslo", 0)


@pytest.fixture
def path(tmp_path):
    with open_store(tmp_path / "store.db") as store:
        own = store.user("ann")
        own.append([turn(0), turn(1)])
        own.write([ONE])
        own.supersede([ONE.memory_id], record("ann", "Rome", 1))
        own.put_vectors("enc", {ONE.memory_id: b"v"})
    return tmp_path / "store.db"


def test_a_sound_store(path):
    found = examine(path)
    assert (found.users, found.events, found.memories, found.problems) == (1, 2, 2, ())


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("DELETE FROM events WHERE position = 0", "draws on event 0, which is not there"),
        ("UPDATE events SET text = NULL WHERE position = 0", "draws on event 0, which was erased"),
        ("DELETE FROM sources", "its sources are listed otherwise"),
        ("DELETE FROM versions", "is not the last in its history"),
        ("UPDATE memories SET version = 3", "is not the last in its history"),
        ("UPDATE memories SET successor = 'nobody'", "superseded by nobody, which is not there"),
        ("UPDATE memories SET successor = memory_id", "in a circle"),
        ("INSERT INTO vectors VALUES ('ann', 'ghost', 'enc', x'00')", "vectors of memory ghost, which is not there"),
        (f"INSERT INTO vectors VALUES ('ann', '{ONE.memory_id}', 'other', x'00')", "vectors of 2 encoders"),
        ("UPDATE memories SET status = 'odd'", "status odd"),
        ("UPDATE memories SET change = 99", "ahead of the change number"),
        ("INSERT INTO batches (user_id, start, stop) VALUES ('ann', 0, 5), ('ann', 3, 6)", "batches overlap at event 3"),
        ("DELETE FROM users", "and no change number"),
    ],
)
def test_what_is_amiss_is_told(path, harm, told):
    database = sqlite3.connect(path)
    database.execute(harm)
    database.commit()
    database.close()
    assert told in "\n".join(examine(path).problems)


def test_torn_pages(path):
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 : 4096 * 5] = b"\xff" * 8192
    path.write_bytes(bytes(whole))
    try:
        found = examine(path).problems
    except Exception as error:
        assert type(error).__name__ in ("StoreError", "DataError")
    else:
        assert found


def test_no_file_is_made_by_looking(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        examine(tmp_path / "none.db")
    assert not list(tmp_path.iterdir())
