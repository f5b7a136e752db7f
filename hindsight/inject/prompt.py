"""A prompt with memories between system and user: its tokens, and exactly which of them are each memory's.

What comes before the memories, each memory, and what comes after are tokenised apart and joined, so a span never cuts a token and
never shares one. A memory is plain text: a control token's name in it is spelled out in letters, not obeyed. Its mark is one that
the miner takes out again (miner/wording.py), so a shown memory is not mined a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from hindsight.types import DataError, Memory

HEADING = "[memory] From earlier conversations:"
HERE = "\ue000"  # of the private use area, where the memories go while the template is filled in

Message = Mapping[str, str]  # role, content


@dataclass(frozen=True, slots=True)
class Prompt:
    """``ids``: all tokens. ``spans``: [start, end) of each memory that is shown; ``shown``: which of those given it is."""

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...] = ()
    shown: tuple[int, ...] = ()

    def followed(self, ids: Sequence[int]) -> Prompt:
        """With more tokens at its end."""
        return replace(self, ids=(*self.ids, *ids))


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded prompts. All (rows, tokens); ``spans`` of each row, in the padded row's tokens."""

    input_ids: Tensor
    attention_mask: Tensor
    position_ids: Tensor
    spans: tuple[tuple[tuple[int, int], ...], ...]


def line(number: int, memory: Memory) -> str:
    """One memory with its time and source: ``- [memory 1 | 2023-05-08 | session 3] Ann: I moved to Oslo.``"""
    marks = [f"memory {number}", *filter(None, (memory.time, memory.session and f"session {memory.session}"))]
    mark = " | ".join(marks).translate({ord("["): "(", ord("]"): ")"})
    return " ".join(f"- [{mark}] {memory.text}".split())


def assemble(tokenizer: Any, messages: Sequence[Message], lines: Sequence[str], budget: int = 1024) -> Prompt:
    """The prompt of a chat, with as many of ``lines`` as fit into ``budget`` tokens, first come first served, in their order.

    They stand at the end of the system message; where the chat template knows none, before the first user message, with what the
    system says. A tokenizer without a template gets plain text. Raises DataError on messages without a user's, on a template that
    drops or repeats the memories, and on a text that holds the mark of their place.
    """
    if not any(message["role"] == "user" for message in messages) or any(HERE in message["content"] for message in messages):
        raise DataError("messages", [dict(message) for message in messages], f"one of the user, and none with {HERE!r}")
    pieces, shown, left = [], [], budget
    heading = _plain(tokenizer, HEADING)
    for number, text in enumerate(lines):
        piece = _plain(tokenizer, f"\n{text}")
        if len(piece) <= left - (0 if shown else len(heading)):
            left -= len(piece) + (0 if shown else len(heading))
            pieces.append(piece)
            shown.append(number)
    rendered = _rendered(tokenizer, messages, bool(shown))
    before, *behind = rendered.split(HERE)
    if len(behind) != bool(shown):
        raise DataError("chat template", rendered.replace(HERE, "<memories>"), "what the system says, once")
    ids = ([] if _template(tokenizer) or tokenizer.bos_token_id is None else [tokenizer.bos_token_id]) + _ids(
        tokenizer, before
    )
    spans = []
    if shown:
        ids += heading
        for piece in pieces:
            spans.append((len(ids), len(ids) + len(piece)))
            ids += piece
        ids += _ids(tokenizer, behind[0])
    return Prompt(tuple(ids), tuple(spans), tuple(shown))


def chat(messages: Sequence[Message], lines: Sequence[str]) -> list[Message]:
    """The same as messages, for an endpoint that fills in a template of its own: the memories stand at the end of what the system says."""
    if not lines:
        return list(messages)
    told = "\n".join([HEADING, *lines])
    system = "\n\n".join([*(message["content"] for message in messages if message["role"] == "system"), told])
    return [{"role": "system", "content": system}, *(message for message in messages if message["role"] != "system")]


def batched(prompts: Sequence[Prompt], pad: int, side: Literal["left", "right"] = "left", device: Any = None) -> Batch:
    """``pad``: the token that fills up. Raises DataError on no prompts or an empty one."""
    if not prompts or not all(prompt.ids for prompt in prompts):
        raise DataError("prompts", [len(prompt.ids) for prompt in prompts], "one or more, of one token or more")
    longest = max(len(prompt.ids) for prompt in prompts)
    ids = torch.full((len(prompts), longest), pad)
    mask = torch.zeros((len(prompts), longest), dtype=torch.long)
    spans = []
    for row, prompt in enumerate(prompts):
        first = longest - len(prompt.ids) if side == "left" else 0
        ids[row, first : first + len(prompt.ids)] = torch.tensor(prompt.ids)
        mask[row, first : first + len(prompt.ids)] = 1
        spans.append(tuple((start + first, end + first) for start, end in prompt.spans))
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    return Batch(ids.to(device), mask.to(device), positions.to(device), tuple(spans))


def _rendered(tokenizer: Any, messages: Sequence[Message], remembers: bool) -> str:
    """The chat as text, up to where the assistant speaks, with HERE in the memories' place."""
    messages = [dict(message) for message in messages]
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    others = [message for message in messages if message["role"] != "system"]
    head = "\n\n".join(filter(None, (system, HERE if remembers else "")))
    whole = [{"role": "system", "content": head}, *others] if head else others
    if not (template := _template(tokenizer)):
        said = [message["content"] if message["role"] == "system" else _said(message) for message in whole]
        return "\n\n".join([*said, "Assistant:"])
    folded = [dict(message) for message in others]
    first = next(message for message in folded if message["role"] == "user")
    first["content"] = f"{head}\n\n{first['content']}" if head else first["content"]
    for number, chat in enumerate((whole, folded)):
        try:
            text = tokenizer.apply_chat_template(chat, chat_template=template, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template refuses by an error of its own making
            if number:
                raise DataError("chat template", error, "roles that it takes") from error
            continue
        if (
            number or not head or (HERE in text if remembers else system.strip() in text)
        ):  # a template may drop what it doesn't know
            return text
    raise AssertionError("the second chat returns or raises")


def _template(tokenizer: Any) -> Any:
    return getattr(tokenizer, "chat_template", None)


def _said(message: Message) -> str:
    return f"{message['role'].capitalize()}: {message['content']}"


def _ids(tokenizer: Any, text: str) -> list[int]:
    whole = text.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8 form
    return list(tokenizer(whole, add_special_tokens=False)["input_ids"])


def _plain(tokenizer: Any, text: str) -> list[int]:
    whole = text.encode("utf-8", "replace").decode()
    return list(tokenizer(whole, add_special_tokens=False, split_special_tokens=True)["input_ids"])
