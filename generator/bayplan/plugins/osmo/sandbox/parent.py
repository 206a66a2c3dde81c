"""The parent process: it starts the child, sends it a request, and reads its reply or ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from time import monotonic
from typing import Any

START_TIMEOUT, REPLY_TIMEOUT = 30.0, 10.0
"""Seconds for a child to start, and for each reply. The child has a far shorter limit of processor time."""

_NEEDED = ("jinja2", "markupsafe")
_SOURCE = "import sys; sys.path += sys.argv[1:]; from bayplan.plugins.osmo.sandbox.child import main; main()"
_FROZEN = ("bayplan-sandbox",)
"""The name under which the static binary runs as a child."""

_OUT_OF_TIME = ("SIGPROF", "SIGXCPU")

_READ_SIZE, _ATOMIC = 2**16, 512
"""Bytes per read, and bytes that a ready pipe accepts without blocking (POSIX: PIPE_BUF)."""

FINAL_FAILURES = ("memory", "time", "died")
"""Failures after which a child sends no more replies."""


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply to one request. The reply to the task "each" has one entry in `replies` for each request in `items`."""
    if request.get("task") == "each":
        return {"replies": _each(request["items"])}
    return _run_all([request])[0]


def _each(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The replies, from one child unless a request ends it."""
    replies: list[Mapping[str, Any]] = []
    while len(replies) < len(requests):
        batch = _run_all(requests[len(replies) :])
        failure = batch[-1].get("failure")
        if failure == "start":
            return [*replies, *batch, *batch[-1:] * (len(requests) - len(replies) - len(batch))]
        if len(batch) > 1 and failure in FINAL_FAILURES:
            batch.pop()  # earlier requests may have used the memory: the next child gets this request first
        replies += batch
    return replies


def _run_all(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The replies to the first requests, at least one. One of `FINAL_FAILURES` is the last reply."""
    command = _command()
    if not command:
        return [{"failure": "start", "message": "the package jinja2 is not installed"}]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PYTHONHASHSEED": "0", "TZ": "UTC"}  # the same order of sets and the same time zone everywhere
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        program = sys.executable if command == _FROZEN else None
        child = subprocess.Popen(command, executable=program, stdin=pipe, stdout=pipe, stderr=nowhere, env=env)
    except (OSError, ValueError) as problem:
        return [{"failure": "start", "message": f"cannot start a process: {problem}"}]
    with child:
        try:
            return _replies_of(child, json.dumps(requests).encode(), len(requests))
        finally:
            child.kill()


def _command() -> Sequence[str]:
    """The command of a child, or nothing if Jinja is not installed."""
    if hasattr(sys, "frozen"):
        return _FROZEN
    paths = [_folder(name) for name in ("bayplan", *_NEEDED)]
    flags = ("-s", "-P", "-S", "-c")
    if not all(paths):
        return ()
    return (sys.executable or "python", *flags, _SOURCE, *dict.fromkeys(map(str, paths)))


def _folder(package: str) -> str | None:
    """The folder of a package, without importing it."""
    loaded = sys.modules.get(package)
    spec = getattr(loaded, "__spec__", None) or PathFinder.find_spec(package)
    return os.path.dirname(os.path.dirname(spec.origin)) if spec is not None and spec.origin else None


def _replies_of(child: subprocess.Popen[bytes], request: bytes, count: int) -> list[Mapping[str, Any]]:
    """The replies of the child. It reads all requests, writes an empty line when it is ready, and a line per reply."""
    written, late = _communicate(child, request)
    replies = written.split(b"\n")[1:-1]
    parsed: list[Mapping[str, Any]] = [json.loads(each) for each in replies]
    if len(parsed) == count or (parsed and parsed[-1].get("failure") in FINAL_FAILURES):
        return parsed
    if late:
        child.kill()
    return [*parsed, _failure_of(child.wait(), late, begun=b"\n" in written)]


def _failure_of(code: int, late: bool, *, begun: bool) -> Mapping[str, Any]:
    """Why a child did not reply. An exit code of 0 means nothing: a caller that ignores SIGCHLD always gets 0."""
    if late or _signal(code) in _OUT_OF_TIME or (begun and not code):
        return {"failure": "time"} if begun else {"failure": "start", "message": "the process did not start in time"}
    return {"failure": "died" if begun else "start", "message": f"the process ended with {_signal(code) or code}"}


def _communicate(child: subprocess.Popen[bytes], request: bytes) -> tuple[bytes, bool]:
    """The output of the child, and whether it was late. It uses no threads, because there may be none left."""
    import selectors

    assert child.stdin is not None
    assert child.stdout is not None
    written, left, end = bytearray(), memoryview(request), monotonic() + START_TIMEOUT
    with getattr(selectors, "PollSelector", selectors.SelectSelector)() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.register(child.stdin, selectors.EVENT_WRITE)
        while True:
            ready = selector.select(max(0.0, end - monotonic()))
            if not ready and monotonic() >= end:
                return bytes(written), True
            for key, _ in ready:
                if key.fileobj is child.stdout:
                    piece = os.read(key.fd, _READ_SIZE)
                    if not piece:
                        return bytes(written), False
                    written += piece
                    end = monotonic() + REPLY_TIMEOUT if b"\n" in piece else end
                    continue
                left = _send(key.fd, left)
                if not left:
                    selector.unregister(child.stdin)
                    child.stdin.close()


def _send(pipe: int, left: memoryview) -> memoryview:
    """Writes what the pipe accepts, and returns the rest. Empty if nobody reads the pipe."""
    try:
        return left[os.write(pipe, left[:_ATOMIC]) :]
    except OSError:  # the child died; its output shows it
        return left[:0]


def _signal(code: int) -> str:
    import signal

    try:
        return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
        return f"signal {-code}"
