"""The command line: a page from a log and from a store, the same bytes again, and every wrong input told in one line."""

import json
import re

import pytest

import hindsight
from hindsight.cli import main
from hindsight.encoder.hashing import HashingEncoder
from hindsight.runtime.memory import Settings
from hindsight.types import opaque
from tests.conftest import SMALL


def data(path):
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"))[1])


@pytest.fixture
def replay(trained, tmp_path, capsys):
    """Runs the stage on the small log; gives (status, standard error)."""

    def called(*overrides, log=f"logs.path={trained}/log.jsonl", scorer=f"scorer.path={trained}/runs/train/default"):
        capsys.readouterr()
        given = [one for one in (log, scorer) if one]
        return main(["replay", *SMALL, *given, *overrides]), capsys.readouterr().err

    return called


@pytest.fixture
def store(tmp_path):
    for user in ("ann", "bob"):
        with hindsight.open_memory(
            tmp_path / "store.db",
            user,
            encoder=HashingEncoder(32),
            settings=Settings("bionic"),
            clock=lambda: 1_700_000_000.0,
        ) as memory:
            memory.record_event(f"I am {user}.")
    return tmp_path / "store.db"


def test_a_users_log_as_a_page(replay, tmp_path):
    status, told = replay("replay.user=bo", f"to={tmp_path}/page.html")
    assert status == 0 and "48 turns" in told
    found = data(tmp_path / "page.html")
    assert len(found["steps"]) == 48 and found["steps"][0]["text"] == "Hello, it is Bo again."
    assert dict(found["facts"]) == dict(found["facts"]) | {"user": "bo", "system": "utility", "turns": "48 in 4 sessions"}
    assert found["steps"][30]["recalls"][0]["hits"][0]["utility"] > 0
    assert str(tmp_path) not in (tmp_path / "page.html").read_text("utf-8")


def test_the_same_bytes_again(replay, tmp_path):
    for name in ("a", "b"):
        assert replay(f"to={tmp_path}/{name}.html", "replay.every=5", "replay.half_life=3")[0] == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_other_systems_need_no_scorer(replay, tmp_path):
    assert replay(f"to={tmp_path}/a.html", "replay.system=layered", scorer="")[0] == 0
    assert "similarity" in data(tmp_path / "a.html")["names"]


def test_a_store_as_it_happened(replay, store, tmp_path):
    status, told = replay(f"store.path={store}", "replay.user=bob", f"to={tmp_path}/a.html", log="")
    assert status == 0, told
    found = data(tmp_path / "a.html")
    assert "I am ann" not in (tmp_path / "a.html").read_text("utf-8")
    assert [step["text"] for step in found["steps"]] == ["I am bob."] and "not its reasons" in found["cautions"][0]


def test_the_first_user_where_none_is_named(replay, store, tmp_path):
    status, told = replay(f"store.path={store}", f"to={tmp_path}/a.html", log="")
    assert status == 0 and "no replay.user=ID, so the first of 2: ann" in told


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["to=a.html"], "replay: give logs.path=FILE (a log) or store.path=FILE (a store, as it happened)"),
        (["logs.path=LOG", "store.path=STORE", "to=a.html"], "not both"),
        (["logs.path=LOG"], "replay: give to=FILE.html"),
        ([], "replay: give to=FILE.html\nreplay: give logs.path=FILE"),
        (["logs.path=LOG", "to=log.jsonl"], "to=log.jsonl: wanted a file whose name ends in .html"),
        (["logs.path=none.jsonl", "to=a.html"], "none.jsonl: got no such file or folder; wanted"),
        (["store.path=none.db", "to=a.html"], "none.db: got no such file; wanted a store"),
        (["store.path=LOG", "to=a.html"], "wanted a store, as hindsight.open_memory makes it"),
        (
            ["logs.path=LOG", "replay.user=eve", "to=a.html"],
            f"got eve; wanted one of its 3 users: {opaque('user', 'ana')}, ",
        ),
        (["store.path=STORE", "replay.user=eve", "to=a.html"], "got eve; wanted one of its 2 users: ann, bob"),
        (["logs.path=LOG", "replay.system=dense", "to=a.html"], "replay.system: got 'dense'"),
        (["logs.path=LOG", "replay.k=0", "replay.every=-1", "to=a.html"], "replay.k=0: wanted 1 or more"),
        (["logs.path=LOG", "scorer.path=nowhere", "to=a.html"], "nowhere"),
        (["logs.path=LOG", "replay.usr=x", "to=a.html"], "did you mean replay.user"),
    ],
)
def test_what_is_wrong(replay, trained, store, tmp_path, monkeypatch, given, wanted):
    monkeypatch.chdir(tmp_path)
    names = {"LOG": f"{trained}/log.jsonl", "STORE": str(store)}
    filled = [f"{one.split('=')[0]}={names.get(one.split('=')[1], one.split('=')[1])}" for one in given]
    status, told = replay(*filled, log="", scorer="")
    assert status == 2 and wanted in told and "Traceback" not in told
    assert not (tmp_path / "a.html").exists() and not (tmp_path / "none.db").exists()
