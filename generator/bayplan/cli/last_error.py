"""`bayplan last-error`: what post-render said last."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from bayplan.cli import output
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.core.diagnostics import info
from bayplan.report import Batch

# What post-render says is kept in a file, because Helm 4 shows nothing of it (internal/plugin, `runPostrenderer`).

PLUGIN = "HELM_PLUGIN_NAME"
"""Helm 4 sets this variable, Helm 3 does not."""


class Tee:
    """Standard error that remembers what was written to it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.kept: list[str] = []

    def write(self, text: str) -> int:
        """To both."""
        size = self.stream.write(text) if self.stream is not None else len(text)
        self.kept.append(text)
        return int(size)

    def isatty(self) -> bool:
        """Whether people read it."""
        return self.stream is not None and bool(self.stream.isatty())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def keep(argv: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """Runs a command line; whatever it says is kept."""
    real, tee = sys.stderr, Tee(sys.stderr)
    sys.stderr = tee
    try:
        code = run(argv)
    finally:
        sys.stderr = real
    if tee.kept:
        _store("".join(tee.kept), argv, code)
    return code


def path() -> str:
    """The file, as the XDG base directory specification has it."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "bayplan", "last-error.txt")


def _store(text: str, argv: Sequence[str], code: int) -> None:
    """Writes the file, and to the terminal where Helm holds standard error back. It is no error if neither can be."""
    import re

    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    head = f"`bayplan {' '.join(argv)}` in {_folder()} ended with exit code {code}:\n"
    try:
        where = path()
        os.makedirs(os.path.dirname(where), exist_ok=True)
        beside = f"{where}.{os.getpid()}"
        with open(beside, "w", encoding="utf-8", errors="replace") as file:
            file.write(head + plain)
        os.replace(beside, where)
    except (OSError, ValueError):
        pass
    if PLUGIN in os.environ:
        _show(plain)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a folder that is gone"


def _show(text: str) -> None:
    try:
        with open("/dev/tty", "w", encoding="utf-8", errors="replace") as terminal:
            terminal.write(text)
    except OSError:
        pass


def run(given: Given) -> int:
    """Prints what is kept."""
    try:
        with open(path(), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return finish(given, [Batch((info("O820", (), "no post-render has had anything to say"),))])
    return finish(given, [], lambda: output.write([text]))
