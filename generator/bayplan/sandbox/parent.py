"""The parent's side: starts the child, hands it a request, takes its reply or ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from threading import Timer
from typing import Any

START, PATIENCE = 30.0, 10.0
"""Seconds on the wall for a child to be ready, and to reply; its own limit is processor time, and far shorter."""

_NEEDED = ("jinja2", "markupsafe")
_SOURCE = "import sys; sys.path += sys.argv[1:]; from bayplan.sandbox.child import main; main()"
_OUT_OF_TIME = ("SIGPROF", "SIGXCPU")


def run(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply to one request."""
    paths = [_folder(name) for name in _NEEDED]
    if not all(paths):
        return {"failure": "start", "message": "the package jinja2 is not installed"}
    flags = ("-s", "-P", "-S", "-c")
    command = [sys.executable or "python", *flags, _SOURCE, _own_folder(), *dict.fromkeys(map(str, paths))]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=_surroundings())
    except (OSError, ValueError) as problem:
        return {"failure": "start", "message": f"no process can be started: {problem}"}
    with child:
        try:
            return _talk(child, json.dumps(request).encode())
        finally:
            child.kill()


def _folder(package: str) -> str | None:
    """Where a package is imported from. It is not imported here."""
    loaded = sys.modules.get(package)
    spec = getattr(loaded, "__spec__", None) or PathFinder.find_spec(package)
    return os.path.dirname(os.path.dirname(spec.origin)) if spec is not None and spec.origin else None


def _surroundings() -> dict[str, str]:
    """The environment of the child: nothing that changes Python, one order of sets and one time zone everywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONHASHSEED": "0", "TZ": "UTC"}


def _own_folder() -> str:
    """Where `bayplan` is imported from."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _talk(child: subprocess.Popen[bytes], request: bytes) -> Mapping[str, Any]:
    """The child reads all, says that it is ready by an empty line, and replies with one more line."""
    assert child.stdin is not None
    assert child.stdout is not None
    late: list[bool] = []
    with _Clock(child, START, late):
        try:
            child.stdin.write(request)
            child.stdin.close()
        except OSError:  # it died; what it left to read says so
            pass
        ready = child.stdout.readline()
    with _Clock(child, PATIENCE, late):
        reply = child.stdout.readline() if ready else b""
    if reply.endswith(b"\n"):
        found: Mapping[str, Any] = json.loads(reply)
        return found
    code = child.wait()
    if late or _signal(code) in _OUT_OF_TIME:
        return {"failure": "time"} if ready else {"failure": "start", "message": "the process did not become ready"}
    return {"failure": "died" if ready else "start", "message": f"the process ended with {_signal(code) or code}"}


def _signal(code: int) -> str:
    import signal

    try:
        return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
        return f"signal {-code}"


class _Clock:
    """Kills the child after so many seconds on the wall, and says so in `late`."""

    def __init__(self, child: subprocess.Popen[bytes], seconds: float, late: list[bool]) -> None:
        self.child, self.late = child, late
        self.timer = Timer(seconds, self.strike)

    def strike(self) -> None:
        self.late.append(True)
        self.child.kill()

    def __enter__(self) -> None:
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
