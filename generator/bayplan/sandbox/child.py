"""The child's side: one request from standard input, one reply to standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

from bayplan.sandbox import limits, tasks


def main() -> None:
    """Reads, gets ready, says so, and replies. Whatever ends it before that, the parent sees."""
    request = json.loads(sys.stdin.buffer.read())
    out = sys.stdout.buffer
    out.write(b"\n")
    out.flush()
    limits.impose()
    out.write(_written(reply(request)) + b"\n")
    out.flush()


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """What there is to say to a request; MemoryError is one of the answers."""
    reserve = bytearray(2**20)
    try:
        return tasks.TASKS[request["task"]](request)
    except MemoryError:
        del reserve
        return {"failure": "memory"}


def _written(answer: dict[str, Any]) -> bytes:
    try:
        return json.dumps(answer).encode()
    except MemoryError:
        return b'{"failure": "memory"}'
