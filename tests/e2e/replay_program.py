"""Programs around a scheduler's own code: one JSON line in, one JSON line out, many cases a process."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple


class BrokenError(Exception):
    """The program did not answer."""


class Running(NamedTuple):
    """A started program, and where it writes its log."""

    process: subprocess.Popen[bytes]
    log: IO[bytes]


def ask(program: Path, case: dict[str, Any], seconds: int = 120) -> dict[str, Any]:
    """The program's answer to one case."""
    running = _start(program, os.getpid())
    assert running.process.stdin and running.process.stdout
    try:
        running.process.stdin.write(json.dumps(case).encode() + b"\n")
        running.process.stdin.flush()
        line = _line(running, seconds)
    except BrokenPipeError:
        line = b""
    if not line:
        running.log.seek(0)
        end = running.log.read()[-4000:].decode(errors="replace")
        running.process.kill()
        _start.cache_clear()
        raise BrokenError(f"{program.name} stopped, or took more than {seconds} s:\n{end}")
    answer: dict[str, Any] = json.loads(line)
    if answer.get("error"):
        raise BrokenError(f"{program.name}: {answer['error']}")
    return answer


def _line(running: Running, seconds: int) -> bytes:
    assert running.process.stdout
    with selectors.DefaultSelector() as waiting:
        waiting.register(running.process.stdout, selectors.EVENT_READ)
        return running.process.stdout.readline() if waiting.select(seconds) else b""


@lru_cache
def _start(program: Path, _process: int) -> Running:
    """One process of each program for each of our own."""
    log = tempfile.TemporaryFile()
    made = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    atexit.register(made.kill)
    return Running(made, log)
