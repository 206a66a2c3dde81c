"""`re` for patterns that are constants of bayplan. Patterns that an earlier run compiled need neither `re` nor time.

Importing `re` and compiling the patterns of a render take about as long as starting an interpreter. The first run
keeps the code of each pattern in a file beside its `.pyc`, for one version of Python. A run that cannot read or write
this file uses `re`. Patterns of users are for `re`: they would only make the file grow.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import os
import sys

from bayplan.core.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import Match, Pattern

MULTILINE, DOTALL, ASCII = 8, 16, 256
"""The flags of `re`, as integers."""

_FILE = f"{__spec__.cached}.patterns" if __spec__ and __spec__.cached else ""
_VERSION = (sys.version, _sre.MAGIC)


def compile(pattern: str, flags: int = 0) -> Pattern[str]:
    """`re.compile` of a constant."""
    found = _compiled.get((pattern, flags))
    if found is None:
        found = _compiled[pattern, flags] = _load(pattern, flags)
    return found


def search(pattern: str, text: str, flags: int = 0) -> Match[str] | None:
    """`re.search` with a constant."""
    return compile(pattern, flags).search(text)


def match(pattern: str, text: str, flags: int = 0) -> Match[str] | None:
    """`re.match` with a constant."""
    return compile(pattern, flags).match(text)


def fullmatch(pattern: str, text: str, flags: int = 0) -> Match[str] | None:
    """`re.fullmatch` with a constant."""
    return compile(pattern, flags).fullmatch(text)


def sub(pattern: str, replacement: str, text: str, flags: int = 0) -> str:
    """`re.sub` with a constant."""
    return compile(pattern, flags).sub(replacement, text)


def _read() -> dict[tuple[str, int], tuple[Any, ...]]:
    """The patterns of earlier runs: flags, code, groups, names of groups."""
    try:
        with open(_FILE, "rb") as file:
            version, kept = marshal.loads(file.read())
        return dict(kept) if version == _VERSION else {}
    except (OSError, EOFError, ValueError, TypeError):
        return {}


_compiled: dict[tuple[str, int], Pattern[str]] = {}
_kept = _read()


def _load(pattern: str, flags: int) -> Pattern[str]:
    """The pattern from the file, or compiled by `re` and then kept."""
    try:
        final, code, groups, names, order = _kept[pattern, flags]
        loaded: Pattern[str] = _sre.compile(pattern, final, [*memoryview(code).cast("I")], groups, names, order)
        return loaded
    except (KeyError, ValueError, TypeError, RuntimeError, OverflowError):
        import re

        compiled = re.compile(pattern, flags)
        _keep(pattern, flags)
        return compiled


def _keep(pattern: str, flags: int) -> None:
    """Adds a pattern to the file. What other processes add at the same time is lost until the next run."""
    global _FILE
    if not _FILE or sys.dont_write_bytecode:
        return
    temporary = f"{_FILE}.{os.getpid()}"
    try:
        from array import array
        from re import _compiler, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(pattern, flags)
        code = array("I", _compiler._code(parsed, flags)).tobytes()
        names = parsed.state.groupdict
        order: list[str | None] = [None] * parsed.state.groups
        for name, number in names.items():
            order[number] = name
        final = int(flags | parsed.state.flags)
        _kept[pattern, flags] = (final, code, parsed.state.groups - 1, names, tuple(order))
        with open(temporary, "xb") as file:
            file.write(marshal.dumps((_VERSION, _kept)))
        os.replace(temporary, _FILE)
    except Exception:  # a read-only installation, a full disk, or a Python whose `re` has other internals
        _FILE = ""
        if os.path.exists(temporary):
            os.unlink(temporary)
