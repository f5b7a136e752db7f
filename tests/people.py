"""Three people's logs, small and whole: facts told early and asked for weeks later, values that a tool call uses, small talk.

For tests that need a pipeline's input. `native` are lines of a native log; `bundled` writes a folder like data/bundled, with gold;
`locomo` a file like LoCoMo's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from hindsight.types import Hit, Query, Turn

USERS = ("ana", "bo", "cy")
# told, asked for in other words, answered
FACTS = (
    ("My sister Nora keeps two parrots in Lisbon.", "Which birds does Nora own?", "Nora keeps two parrots."),
    ("I parked the blue van at Granary Wharf.", "Where is the van now?", "The van is at Granary Wharf."),
    ("Our dentist is called Doctor Okafor.", "Who looks after my teeth?", "That is Doctor Okafor."),
    ("I am allergic to walnuts and sesame.", "What must the baker leave out?", "Leave out walnuts and sesame."),
    ("The spare key hangs behind the piano.", "How do I get in without my key?", "The spare key hangs behind the piano."),
    ("We married in the village of Bled.", "Where was our wedding?", "You married in Bled."),
    ("My thesis is about glacier mice.", "What do I write about?", "Your thesis is about glacier mice."),
    ("I run with Marek every Tuesday.", "Who joins me for sport?", "Marek runs with you every Tuesday."),
    ("The boiler shows error F28 again.", "What was wrong with the heating?", "The boiler shows error F28."),
    ("Grandma left me a cello from Cremona.", "What did I inherit?", "A cello from Cremona."),
    ("I prefer the window seat in coach seven.", "Where do I like to sit?", "The window seat in coach seven."),
    ("Our cat Pixel eats only salmon.", "What should I buy for Pixel?", "Pixel eats only salmon."),
)
VALUES = ("14 May", "9:40 am", "Hotel Lindenhof", "EUR 85", "KX 683", "Platform 9")
TALK = (
    ("Lovely weather today, is it not?", "It is, enjoy it."),
    ("I slept badly.", "I am sorry to hear that."),
    ("The match last night was dull.", "Better luck next week."),
    ("Coffee first.", "Of course."),
)
SESSIONS = 4


def native(users: tuple[str, ...] = USERS) -> list[dict[str, Any]]:
    """A line a session, 12 turns each: two facts, small talk, a question about an earlier session, a call with an early value."""
    return [_session(number, user, session) for session in range(SESSIONS) for number, user in enumerate(users)]


def _session(number: int, user: str, session: int) -> dict[str, Any]:
    def fact(place: int) -> tuple[str, str, str]:
        return FACTS[(4 * number + place) % len(FACTS)]

    value, call = VALUES[(2 * number + session) % len(VALUES)], []
    if session:
        earlier = VALUES[(2 * number + session - 1) % len(VALUES)]
        call = [{"name": "reserve", "arguments": {"value": earlier}, "result": "done", "outcome": "success"}]
    asked = fact(session - 1)
    talk = TALK[(number + session) % len(TALK)]
    said: list[tuple[str, list[dict[str, Any]]]] = [
        (f"Hello, it is {user.capitalize()} again.", []),
        ("Welcome back.", []),
        (fact(session)[0], []),
        ("Thank you for telling me.", []),
        (f"Please keep {value} in mind for the trip.", []),
        ("I have made a note.", []),
        (talk[0], []),
        (talk[1], []),
        (asked[1] if session else "What can you do for me?", []),
        (asked[2] if session else "I remember things.", []),
        ("Now reserve it as I told you." if session else "That will do.", []),
        ("It is reserved." if session else "Goodbye.", call),
    ]
    turns = [
        {"role": ("user", "assistant")[i % 2], "text": text, "time": f"2024-0{session + 1}-0{number + 1}T10:{i:02}:00Z"}
        | ({"calls": calls} if calls else {})
        for i, (text, calls) in enumerate(said)
    ]
    return {"dialogue_id": f"{user}-{session}", "user_id": user, "turns": turns}


def gold(users: tuple[str, ...] = USERS) -> list[dict[str, Any]]:
    """*ask*: the question about a fact of the session before. *act*: the call whose value was given there."""
    rows: list[dict[str, Any]] = []
    for user in users:
        for session in range(1, SESSIONS):
            name, before = f"{user}-{session}", f"{user}-{session - 1}"
            shared = {"user_id": user, "session": name, "answers": ["x"], "split": "test"}
            rows.append(
                shared | {"query_id": f"q-{name}", "turn": 8, "regime": "ask", "type": "single", "relevant": [[before, 2]]}
            )
            rows.append(
                shared | {"query_id": f"a-{name}", "turn": 10, "regime": "act", "type": "call", "relevant": [[before, 4]]}
            )
    return rows


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def bundled(folder: Path, log: list[dict[str, Any]] | None = None, rows: list[dict[str, Any]] | None = None) -> Path:
    """A folder like data/bundled, all users in its test split."""
    write_lines(folder / "test.jsonl", native() if log is None else log)
    write_lines(folder / "gold.jsonl", gold() if rows is None else rows)
    return folder


def locomo(path: Path, swapped: bool = False) -> Path:
    """A file like LoCoMo's. ``swapped``: each question's evidence is another turn of the same dialogue, its answer too."""
    samples = []
    for number, user in enumerate(USERS):
        conversation: dict[str, Any] = {}
        qa = []
        for session in range(SESSIONS):
            lines = _session(number, user, session)["turns"]
            key = f"session_{session + 1}"
            conversation[f"{key}_date_time"] = f"1:56 pm on {number + 1} May, 202{session}"
            conversation[key] = [
                {
                    "speaker": ("Iris", user.capitalize())[i % 2 == 0],
                    "dia_id": f"D{session + 1}:{i + 1}",
                    "text": line["text"],
                }
                for i, line in enumerate(lines)
            ]
            fact = FACTS[(4 * number + session) % len(FACTS)]
            evidence, answer = (f"D{session + 1}:7", "the weather") if swapped else (f"D{session + 1}:3", fact[2])
            qa.append({"question": fact[1], "answer": answer, "evidence": [evidence], "category": 4})
        samples.append({"sample_id": f"conv-{number}", "conversation": conversation, "qa": qa})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(samples))
    return path


class Watched:
    """A system of the user's that keeps all that it is given: for `system.path=tests.people:Watched`."""

    given: ClassVar[list[tuple[str, tuple[object, ...]]]] = []

    def observe(self, user_id: str, turns: list[Turn]) -> None:
        self.given.append(("observe", (user_id, turns)))

    def recall(self, query: Query, k: int) -> list[Hit]:
        self.given.append(("recall", (query, k)))
        return []
