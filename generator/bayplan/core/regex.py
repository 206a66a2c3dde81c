"""`re` for patterns that are constants of bayplan. Patterns that an earlier run compiled need neither `re` nor time.

`core.startup` keeps them. Patterns of users are for `re`: they would only make its file grow.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]

from bayplan.core import startup
from bayplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import Match, Pattern

MULTILINE, DOTALL, ASCII = 8, 16, 256
"""The flags of `re`, as integers."""


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


_compiled: dict[tuple[str, int], Pattern[str]] = {}


def _load(pattern: str, flags: int) -> Pattern[str]:
    """The pattern of an earlier run, or compiled by `re` and then kept."""
    try:
        final, code, groups, names, order = startup.patterns[pattern, flags]
        loaded: Pattern[str] = _sre.compile(pattern, final, [*memoryview(code).cast("I")], groups, names, order)
        return loaded
    except (KeyError, ValueError, TypeError, RuntimeError, OverflowError):
        import re

        compiled = re.compile(pattern, flags)
        _keep(pattern, flags)
        return compiled


def _keep(pattern: str, flags: int) -> None:
    """Gives a pattern to `core.startup`, as `re._compiler.compile` of CPython 3.11 to 3.14 gives it to `_sre`."""
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
        startup.keep_pattern((pattern, flags), (final, code, parsed.state.groups - 1, names, tuple(order)))
    except Exception:  # a Python whose `re` has other internals
        return
