"""A replay as one self-contained page. Its data is embedded as JSON, and a script puts it on the page as text: never as markup.

The page's policy allows its own script and style by their hashes, and nothing else: what is said in a log can neither run nor fetch.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindsight.io import write_text
from hindsight.report.page import environment

_HERE = Path(__file__).parent


def write(path: Path, body: Mapping[str, Any]) -> None:
    """``body``: as ``replay/shape.py`` makes it. Atomic."""
    write_text(path, page(body))


def page(body: Mapping[str, Any]) -> str:
    """The whole page as HTML; the same input gives the same text."""
    script = (_HERE / "replay.js").read_text("utf-8")
    style = "".join((_HERE / name).read_text("utf-8") for name in ("style.css", "replay.css"))
    template = environment().get_template("replay.html.j2")
    return template.render(
        body=body, data=embedded(body), script=script, style=style, allowed=f"script-src {_hash(script)}; style-src {_hash(style)}"
    )  # fmt: skip


def embedded(body: Mapping[str, Any]) -> str:
    r"""JSON that can stand inside ``<script>``: ASCII, without ``<``, ``>`` and ``&``, so no tag, comment or line separator in it.

    >>> embedded({"a": "</script>"})
    '{"a":"\\u003c/script\\u003e"}'
    """
    plain = json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
