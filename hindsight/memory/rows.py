"""One user's rows: the only place that reads or writes a table of users' data. The user is put in here, and nowhere else.

``Rows`` is made with a user, so no statement can be without one: a condition that a caller writes is wrapped in brackets and joined
with the user's own by AND, and an inserted row gets the user's id whatever it says.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hindsight.types import DataError


class Rows:
    """``table`` and the names of columns are the callers' own words, values are always bound."""

    def __init__(self, database: sqlite3.Connection, user_id: str) -> None:
        self._database, self._user_id = database, user_id

    def select(
        self, table: str, columns: str, where: str = "1", values: Sequence[Any] = (), order: str = ""
    ) -> list[tuple[Any, ...]]:
        tail = f" ORDER BY {order}" if order else ""
        return self._database.execute(
            f"SELECT {columns} FROM {table} WHERE user_id = ? AND ({where}){tail}", (self._user_id, *values)
        ).fetchall()

    def insert(self, table: str, rows: Iterable[Mapping[str, Any]], replace: bool = False) -> None:
        """``replace``: a row with the same key is overwritten; else that is an IntegrityError."""
        verb = "INSERT OR REPLACE" if replace else "INSERT"
        for row in rows:
            names = ["user_id", *(name for name in row if name != "user_id")]
            marks = ", ".join("?" * len(names))
            values = [self._user_id, *(row[name] for name in names[1:])]
            try:
                self._database.execute(f"{verb} INTO {table} ({', '.join(names)}) VALUES ({marks})", values)
            except UnicodeEncodeError as error:
                raise DataError(table, ascii(error.object), "text without lone surrogates: it has no UTF-8 form") from error

    def update(self, table: str, changes: Mapping[str, Any], where: str, values: Sequence[Any] = ()) -> int:
        """How many rows were changed."""
        assert "user_id" not in changes
        sets = ", ".join(f"{name} = ?" for name in changes)
        return self._database.execute(
            f"UPDATE {table} SET {sets} WHERE user_id = ? AND ({where})", (*changes.values(), self._user_id, *values)
        ).rowcount

    def delete(self, table: str, where: str = "1", values: Sequence[Any] = ()) -> int:
        return self._database.execute(
            f"DELETE FROM {table} WHERE user_id = ? AND ({where})", (self._user_id, *values)
        ).rowcount

    def next(self, table: str, column: str = "number", where: str = "1", values: Sequence[Any] = ()) -> int:
        """One more than the highest so far, from 0."""
        return self.select(table, f"coalesce(max({column}), -1) + 1", where, values)[0][0]
