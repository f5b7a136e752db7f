"""Where a memory stands, who said it and what kind of thing it says: what *act* lives by (SCIENCE: similarity is worth nothing
there, recency and type nearly everything)."""

from __future__ import annotations

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
NAMES = (
    "speaker",
    "age_log",
    "age_inverse",
    "same_session",
    "sessions_ago",
    "within_8",
    "age_in_session",
    "place_in_session",
    "opens_session",
    "user_said",
    "length",
    "entities",
    "entities_few",
    *_TYPES,
    "date_wanted",
    "clock_wanted",
    "name_wanted",
    "number_wanted",
    "name_referred",
    "offer_referred",
    "entities_new",
    "entities_shared",
    "news",
    "asked_of_user",
)


def columns(moment: Moment) -> dict[str, Floats]:
    past, rows = moment.past, moment.rows
    cue = past.cue.view[rows]  # (candidates, cues)
    user = past.by_user.view[rows]
    age = (moment.query.asked_at - past.source.view[rows]).astype(np.float32)
    session = past.session.view[rows]
    same = (session == moment.session).astype(np.float32)
    newest = moment.session if moment.session >= 0 else len(past.sessions)
    place = past.place.view[rows]
    entities = np.minimum(past.entity_count.view[rows], 6)
    by_assistant = 1 - user
    about = moment.about
    speaker = np.zeros(len(rows), np.float32)
    if about is not None:
        speaker = np.where(past.speaker.view[rows] == past.speakers[about], 1, -1).astype(np.float32)
    found = {
        "speaker": speaker,
        "age_log": np.log(np.maximum(age, 1)),
        "age_inverse": 1 / np.maximum(age, 1),
        "same_session": same,
        "sessions_ago": np.log1p(np.maximum(newest - session, 0)).astype(np.float32),
        "within_8": (age <= 8).astype(np.float32),
        "age_in_session": same * np.log(np.maximum(age, 1)),
        "place_in_session": np.log1p(place),
        "opens_session": (place == 0).astype(np.float32),
        "user_said": user,
        "length": np.log1p(past.words.view[rows]),
        "entities": entities,
        "entities_few": np.minimum(entities, 3),
        **{name: cue[:, CUE[name]] for name in _TYPES},
    }
    found["offers"] = found["offers"] * by_assistant
    found["confirms"] = found["confirms"] * by_assistant
    return found | _matches(moment, cue, user, entities)


def _matches(moment: Moment, cue: Floats, user: Floats, entities: Floats) -> dict[str, Floats]:
    """A kind of value that the context lacks and the memory has."""
    past, rows = moment.past, moment.rows
    asked = cues.flags(moment.plain_query)
    in_query = frozenset[str]().union(*(cues.entities(line.split(": ", 1)[-1]) for line in moment.lines))
    refers = cues.flags(moment.last_line)[CUE["refers_back"]]
    shared = np.zeros(len(rows), np.float32)
    if in_query:
        shared = np.array([len(in_query & past.entities[row]) for row in rows.tolist()], np.float32)
    named = (past.entity_count.view[rows] > 0).astype(np.float32)
    asked_of_user = float(len(moment.lines) > 1 and cues.flags(moment.lines[-2])[CUE["has_question"]])
    return {
        "date_wanted": cue[:, CUE["date"]] * (1 - asked[CUE["date"]]),
        "clock_wanted": cue[:, CUE["clock"]] * (1 - asked[CUE["clock"]]),
        "name_wanted": named * float(not in_query),
        "number_wanted": cue[:, CUE["number"]] * (1 - asked[CUE["number"]]),
        "name_referred": named * refers,
        "offer_referred": cue[:, CUE["offers"]] * (1 - user) * refers,
        "entities_new": np.log1p(np.maximum(entities - shared, 0)),
        "entities_shared": np.minimum(shared, 3),
        "news": moment.news() / 10,
        "asked_of_user": user * np.float32(asked_of_user),
    }
