"""Places in what a template wrote -> places in the template. Only a finding pays for it: with a second rendering.

That rendering carries marks (`bayplan.sandbox.marks`), so that whatever is written has a known line. Where marks would
change what is written, the lines of both texts are aligned instead, and the place is called a guess.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayplan.document import Span
from bayplan.values import NamedTuple

Render = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Back = Callable[[Span], tuple[Span, str]]

_MOST_ALIGNED = 20_000
"""Lines that are aligned; beyond, a line is taken for the one of its number."""


class Origin(NamedTuple):
    """A line of the template (from 1), whether it is plain text there, and what to remark."""

    line: int
    plain: bool
    remark: str


def back(text: str, written: str, render: Render, request: Mapping[str, Any]) -> Back:
    """The way back from `written` to the file's text. `request` asks for a trace."""
    found: list[Callable[[int, int], Origin]] = []
    lines, source = written.split("\n"), text.split("\n")

    def lead(span: Span) -> tuple[Span, str]:
        if not found:
            found.append(_origins(lines, source, render(request)))
        origin = found[0](span.line, span.column)
        return place(span, lines, source, origin), origin.remark

    return lead


def _origins(lines: Sequence[str], source: Sequence[str], reply: Mapping[str, Any]) -> Callable[[int, int], Origin]:
    """(line, column) of what was written -> its origin."""
    if not reply.get("pieces"):
        return _aligned(lines, source)
    pieces, table, constructs = reply["pieces"], reply["lines"], reply["constructs"]
    offsets = [offset for offset, _ in pieces]
    totals = Counter(number for _, number in pieces)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def origin(line: int, column: int) -> Origin:
        at = max(0, bisect_right(offsets, starts[line - 1] + column - 1) - 1)
        number = pieces[at][1]
        turn = sum(1 for _, each in pieces[: at + 1] if each == number)
        own, within, plain = table[number]
        return Origin(own, bool(plain), _remark(own, turn, totals[number], _within(constructs, within)))

    return origin


def _within(constructs: Sequence[Sequence[Any]], number: int) -> str:
    """The loops and the macro that a line stands in, from the outside."""
    loops: list[str] = []
    while number >= 0:
        kind, line, name, outer = constructs[number]
        if kind == "macro":
            return f'macro "{name}" at line {line}' + (f", {_loops(loops)}" if loops else "")
        loops.insert(0, str(line))
        number = outer
    return _loops(loops) if loops else ""


def _loops(lines: Sequence[str]) -> str:
    return f"loop at line {lines[0]}" if len(lines) == 1 else f"loops at lines {' and '.join(lines)}"


def _remark(line: int, turn: int, total: int, within: str) -> str:
    """`line 14 was written 16 times; this is the 3rd (loop at line 12)`."""
    if total < 2:
        return ""
    return f"line {line} was written {total} times; this is the {ordinal(turn)}{f' ({within})' if within else ''}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _aligned(lines: Sequence[str], source: Sequence[str]) -> Callable[[int, int], Origin]:
    """The line that reads the same; where there is none, the line after the last that does."""
    guess = "the template could not be followed: the place is a guess"
    if len(lines) + len(source) > _MOST_ALIGNED:
        return lambda line, column: Origin(min(line, len(source)), False, guess)
    from difflib import SequenceMatcher

    matches: dict[int, int] = {}
    for first, second, size in SequenceMatcher(None, lines, source, autojunk=False).get_matching_blocks():
        matches.update((first + n, second + n) for n in range(size))

    def origin(line: int, column: int) -> Origin:
        if line - 1 in matches:
            return Origin(matches[line - 1] + 1, True, "")
        above = next((n for n in range(line - 2, -1, -1) if n in matches), -1)
        return Origin(min(matches.get(above, -1) + 2, len(source)), False, guess)

    return origin


def place(span: Span, lines: Sequence[str], source: Sequence[str], origin: Origin) -> Span:
    """The columns: the same where the lines are, else where the value stands, else all that the line holds."""
    line = origin.line
    here, there = lines[span.line - 1], source[line - 1] if line <= len(source) else ""
    if span.end_line != span.line:
        span = Span(span.line, span.column, span.line, len(here) + 1)
    first, last = span.column - 1, span.end_column - 1
    if here[:last] == there[:last]:
        return Span(line, span.column, line, span.end_column)
    if here[:first] == there[:first] and there.startswith("{{", first):
        return Span(line, span.column, line, _after(there, first) + 1)
    value = here[first:last]
    found = there.find(value) if len(value) > 1 or there.count(value) == 1 else -1
    if value.strip() and found >= 0:
        return Span(line, found + 1, line, found + len(value) + 1)
    expression = there.find("{{")
    if not origin.plain and expression >= 0:
        return Span(line, expression + 1, line, _after(there, expression) + 1)
    blank = len(there) - len(there.lstrip())
    return Span(line, blank + 1, line, max(len(there.rstrip()), blank + 1) + 1)


def _after(line: str, start: int) -> int:
    """Where an expression that begins there ends."""
    end = line.find("}}", start)
    return end + 2 if end >= 0 else len(line.rstrip())
