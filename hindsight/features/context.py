"""Where a memory stands, who said it and what kind of thing it says: what *act* lives by (SCIENCE: similarity is worth nothing
there, recency and type nearly everything)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight.features import cues
from hindsight.features.cues import COLUMN as CUE
from hindsight.features.moment import Moment
from hindsight.types import Floats

GROUP = "context"
_TYPES = (
    "has_question",
    "ends_question",
    "number",
    "date",
    "clock",
    "money",
    "acknowledges",
    "requests",
    "offers",
    "confirms",
    "closes",
    "digit",
)
_BY_ASSISTANT = ("offers", "confirms")  # count only where the user did not say it


def _speaker(m: Moment) -> Floats:
    """1 for the person asked about, -1 for others, 0 where that is open."""
    if m.about is None:
        return np.zeros(len(m.rows), np.float32)
    return np.where(m.past.speaker.view[m.take] == m.past.speakers[m.about], 1, -1)


def _age(m: Moment) -> Floats:
    return np.maximum(m.query.asked_at - m.past.source.view[m.take], 1).astype(np.float32)


def _sessions_ago(m: Moment) -> Floats:
    newest = m.session if m.session >= 0 else len(m.past.sessions)
    return np.log1p(np.maximum(newest - m.past.session.view[m.take], 0))


def _user(m: Moment) -> Floats:
    return m.past.by_user.view[m.take]


def _entities(m: Moment) -> Floats:
    return np.minimum(m.past.entity_count.view[m.take], 6)


def _named(m: Moment) -> Floats:
    return (m.past.entity_count.view[m.take] > 0).astype(np.float32)


def _shared(m: Moment) -> Floats:
    return m.once("entities shared", lambda: m.sharing(m.query_entities))


def _refers(m: Moment) -> float:
    return float(bool(cues.CUES["refers_back"].search(m.last_line)))


def _cue(m: Moment, name: str) -> Floats:
    return m.past.cue.view[m.take, CUE[name]]


def _type(name: str) -> Callable[[Moment], Floats]:
    if name in _BY_ASSISTANT:
        return lambda m: _cue(m, name) * (1 - _user(m))
    return lambda m: _cue(m, name)


def _wanted(name: str) -> Callable[[Moment], Floats]:
    """A kind of value that the query lacks and the memory has."""
    return lambda m: _cue(m, name) * (1 - m.asked_flags[CUE[name]])


def _asked_of_user(m: Moment) -> Floats:
    asked = len(m.lines) > 1 and bool(cues.CUES["has_question"].search(m.lines[-2]))
    return _user(m) * float(asked)


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "speaker": _speaker,
    "age_log": lambda m: np.log(_age(m)),
    "age_inverse": lambda m: 1 / _age(m),
    "same_session": lambda m: m.same_session,
    "sessions_ago": _sessions_ago,
    "within_8": lambda m: (_age(m) <= 8).astype(np.float32),
    "age_in_session": lambda m: m.same_session * np.log(_age(m)),
    "place_in_session": lambda m: np.log1p(m.past.place.view[m.take]),
    "opens_session": lambda m: (m.past.place.view[m.take] == 0).astype(np.float32),
    "user_said": _user,
    "length": lambda m: np.log1p(m.past.words.view[m.take]),
    "entities": _entities,
    "entities_few": lambda m: np.minimum(m.past.entity_count.view[m.take], 3),
    **{name: _type(name) for name in _TYPES},
    "date_wanted": _wanted("date"),
    "clock_wanted": _wanted("clock"),
    "name_wanted": lambda m: _named(m) * float(not m.query_entities),
    "number_wanted": _wanted("number"),
    "name_referred": lambda m: _named(m) * _refers(m),
    "offer_referred": lambda m: _cue(m, "offers") * (1 - _user(m)) * _refers(m),
    "entities_new": lambda m: np.log1p(np.maximum(_entities(m) - _shared(m), 0)),
    "entities_shared": lambda m: np.minimum(_shared(m), 3),
    "news": lambda m: m.news() / 10,
    "asked_of_user": _asked_of_user,
}
NAMES = tuple(COLUMNS)
