"""A stand-in for an OpenAI-compatible server, on this machine alone: it answers from a script and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], "dict[str, Any] | str | int | float"]


class StandIn:
    """``answer``: from a request's body to what the model says (an object or a text), to a status (int), to a delay in seconds (float:
    then it says nothing), or to a whole completion (an object with ``choices``)."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked, self.headers = answer, list[dict[str, Any]](), list[dict[str, str]]()
        self.lock, self.url = threading.Lock(), ""

    def reply(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, bytes]:
        with self.lock:
            self.asked.append(body)
            self.headers.append(headers)
            found = self.answer(body)
        if isinstance(found, float):
            time.sleep(found)
            return 200, b""
        if isinstance(found, int):
            return found, b'{"error": "scripted"}'
        if isinstance(found, dict) and "choices" in found:
            return 200, json.dumps(found).encode()
        text = found if isinstance(found, str) else json.dumps(found)
        whole = {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }
        return 200, json.dumps(whole).encode()


@contextmanager
def standin(answer: Answer):
    server = StandIn(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, content = server.reply({"path": self.path, **body}, {k.lower(): v for k, v in self.headers.items()})
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked has gone
                self.wfile.write(content)

        def log_message(self, format, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
