"""What the annotation of SGD and CrossWOZ says of one turn: the values that it gives, and those that it needs. Gold is made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hindsight.logs.crosswoz import acts_of
from hindsight.logs.histories import Annotated
from hindsight.text import normalise
from hindsight.values import leaves

Value = tuple[str, str, str]  # service, slot, canonical value

_GIVES = ("INFORM", "OFFER", "CONFIRM")
_NO_VALUE = ("intent", "count", "")
_TELLS = ("Inform", "Recommend")
# CrossWOZ's slots whose values name one thing; any other value (a rating, a price) counts in its own domain and slot alone
_NAMES = frozenset({"名称", "出发地", "目的地", "周边景点", "周边餐馆", "周边酒店"})
_ABOUT = frozenset({"名称", "出发地", "目的地"})  # what a reply is about; its other values are what the database says now


@dataclass(frozen=True, slots=True)
class Given:
    """``values``: told here. ``strong``: those that can be traced by themselves. ``said``: how each was said, where that differs.
    ``needs``: (value, whether weak) of the call's arguments, or else of ``values``."""

    values: frozenset[Value]
    strong: frozenset[str]
    needs: tuple[tuple[Value, bool], ...]
    call: bool
    said: dict[str, str] = field(default_factory=dict[str, str])


def of_sgd(one: Annotated) -> Given:
    values: set[Value] = set()
    said: dict[str, str] = {}
    call: list[Value] | None = None
    for frame in one.frames:
        service = frame.get("service", "")
        for action in frame.get("actions") or ():
            if action.get("act") in _GIVES and action.get("slot", "") not in _NO_VALUE:
                spoken = action.get("values") or []
                for place, canonical in enumerate(action.get("canonical_values") or spoken):
                    value = normal(canonical)
                    values.add((service, action["slot"], value))
                    if place < len(spoken):
                        said[value] = normal(spoken[place])
        if made := frame.get("service_call"):
            parameters = made.get("parameters") or {}
            call = [(service, slot, normal(value)) for slot, value in parameters.items()]
    strong = frozenset(value for _, _, value in values if not _is_weak(value))
    needs = sorted(values) if call is None else call
    return Given(frozenset(values), strong, tuple((one, _is_weak(one[2])) for one in needs), call is not None, said)


def of_crosswoz(one: Annotated) -> Given:
    """Of a domain's two queries the last counts: the first may still hold what the user has left behind. Of a reply only what it is
    about is needed. A facility of a hotel is a value of its own: (酒店, 酒店设施-洗衣服务, 是) is what the query calls 酒店设施: 洗衣服务."""
    values: set[Value] = set()
    for act, domain, slot, told in (act for message in one.frames for act in acts_of(message)):
        slot, dash, facility = slot.partition("-")
        if dash and told != "是":
            continue
        value = normalise(facility if dash else told)
        if act in _TELLS and value not in ("", "none", "无"):
            values.add((domain, slot, value))
    call = [
        (call.name, slot, value)
        for call in {call.name: call for call in one.turn.calls}.values()
        for slot, wanted in call.arguments.items()
        for value in leaves(wanted)
    ]
    strong = frozenset(value for _, slot, value in values if slot in _NAMES)
    needs = dict.fromkeys(call or sorted(one for one in values if one[1] in _ABOUT))
    return Given(frozenset(values), strong, tuple((one, one[1] not in _NAMES) for one in needs), bool(call))


def normal(value: object) -> str:
    return re.sub(r"\s+", " ", str(value).lower().strip())


def _is_weak(value: str) -> bool:
    return value in ("true", "false", "dontcare") or bool(re.fullmatch(r"\d{1,2}", value))
