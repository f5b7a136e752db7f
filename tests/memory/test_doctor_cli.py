import sqlite3

from hindsight.cli import main
from hindsight.memory.store import open_store
from tests.memory.records import record, turn


def test_the_command_line_ends_with_what_it_found(tmp_path, capsys):
    path = tmp_path / "store.db"
    with open_store(path) as store:
        store.user("ann").append([turn(0)])
        store.user("ann").write([record("ann", "Oslo", 0)])
    assert main(["doctor", f"store.path={path}"]) == 0
    assert "1 users, 1 events, 1 memories; 0 problems" in capsys.readouterr().out
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM events")
    assert main(["doctor", f"store.path={path}"]) == 1
    assert "draws on event 0, which is not there" in capsys.readouterr().out
    assert main(["doctor"]) == 2
    assert "give store.path=FILE" in capsys.readouterr().err
    assert main(["doctor", f"store.path={tmp_path / 'none.db'}"]) == 2
    assert "no such file" in capsys.readouterr().err
