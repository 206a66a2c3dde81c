"""The child's side: requests from standard input, a reply to each of them to standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

from bayplan.sandbox import tasks
from bayplan.sandbox import tasks as limits

_NO_MEMORY = b'{"failure": "memory"}'


def main() -> None:
    """Reads, gets ready, says so, and replies. Whatever ends it before that, the parent sees."""
    requests = json.loads(sys.stdin.buffer.read())
    out = sys.stdout.buffer
    out.write(b"\n")
    out.flush()
    limits.impose()
    for request in requests:
        limits.start_clock()
        answer = _written(reply(request))
        out.write(answer + b"\n")
        out.flush()
        if answer == _NO_MEMORY:
            return


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
        return _NO_MEMORY
