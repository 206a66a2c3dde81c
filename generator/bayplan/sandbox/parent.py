"""The parent's side: starts the child, hands it a request, takes its reply or ends it."""

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
"""Seconds on the wall for a child to be ready, and for each reply; its own limit is processor time, and far shorter."""

_NEEDED = ("jinja2", "markupsafe")
_SOURCE = "import sys; sys.path += sys.argv[1:]; from bayplan.sandbox.child import main; main()"
_OUT_OF_TIME = ("SIGPROF", "SIGXCPU")

_READ_SIZE, _ATOMIC = 2**16, 512
"""Bytes that are read at once, and that a pipe which is ready takes without waiting (POSIX: PIPE_BUF)."""

FINAL_FAILURES = ("memory", "time", "died")
"""Failures after which a child replies no more."""


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply to one request; to the task "each" as many `replies` as it has `items`, which are requests."""
    if request.get("task") == "each":
        return {"replies": _each(request["items"])}
    return _run_all([request])[0]


def _each(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The replies, by one child where none of them ends it."""
    replies: list[Mapping[str, Any]] = []
    while len(replies) < len(requests):
        batch = _run_all(requests[len(replies) :])
        failure = batch[-1].get("failure")
        if failure == "start":
            return [*replies, *batch, *batch[-1:] * (len(requests) - len(replies) - len(batch))]
        if len(batch) > 1 and failure in FINAL_FAILURES:
            batch.pop()  # it may be those before it that took the memory: the next child has it first
        replies += batch
    return replies


def _run_all(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The replies to the first of the requests, at least to one: after one of `FINAL_FAILURES` there is none."""
    paths = [_folder(name) for name in _NEEDED]
    if not all(paths):
        return [{"failure": "start", "message": "the package jinja2 is not installed"}]
    flags = ("-s", "-P", "-S", "-c")
    own_folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # of `bayplan`
    command = [sys.executable or "python", *flags, _SOURCE, own_folder, *dict.fromkeys(map(str, paths))]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PYTHONHASHSEED": "0", "TZ": "UTC"}  # one order of sets and one time zone everywhere
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=env)
    except (OSError, ValueError) as problem:
        return [{"failure": "start", "message": f"no process can be started: {problem}"}]
    with child:
        try:
            return _replies_of(child, json.dumps(requests).encode(), len(requests))
        finally:
            child.kill()


def _folder(package: str) -> str | None:
    """Where a package is imported from. It is not imported here."""
    loaded = sys.modules.get(package)
    spec = getattr(loaded, "__spec__", None) or PathFinder.find_spec(package)
    return os.path.dirname(os.path.dirname(spec.origin)) if spec is not None and spec.origin else None


def _replies_of(child: subprocess.Popen[bytes], request: bytes, count: int) -> list[Mapping[str, Any]]:
    """The child reads all, says that it is ready by an empty line, and writes a line for each reply."""
    written, late = _communicate(child, request)
    replies = written.split(b"\n")[1:-1]
    parsed: list[Mapping[str, Any]] = [json.loads(each) for each in replies]
    if len(parsed) == count or (parsed and parsed[-1].get("failure") in FINAL_FAILURES):
        return parsed
    if late:
        child.kill()
    return [*parsed, _failure_of(child.wait(), late, begun=b"\n" in written)]


def _failure_of(code: int, late: bool, *, begun: bool) -> Mapping[str, Any]:
    """What kept a child from a reply. A code of 0 says nothing: the caller ignores SIGCHLD, and gets no other."""
    if late or _signal(code) in _OUT_OF_TIME or (begun and not code):
        return {"failure": "time"} if begun else {"failure": "start", "message": "the process did not become ready"}
    return {"failure": "died" if begun else "start", "message": f"the process ended with {_signal(code) or code}"}


def _communicate(child: subprocess.Popen[bytes], request: bytes) -> tuple[bytes, bool]:
    """All that the child writes, and whether it was late. It takes no thread, for there may be none to have."""
    if os.name == "nt":  # where only threads can wait for pipes
        try:
            return child.communicate(request, START_TIMEOUT + REPLY_TIMEOUT)[0], False
        except subprocess.TimeoutExpired:
            child.kill()
            return child.communicate()[0], True
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
    """What is left after as much as the pipe takes; nothing, if nobody reads it."""
    try:
        return left[os.write(pipe, left[:_ATOMIC]) :]
    except OSError:  # it died; what it left to read says so
        return left[:0]


def _signal(code: int) -> str:
    import signal

    try:
        return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
        return f"signal {-code}"
