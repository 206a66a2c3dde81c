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
    """A line of the template (from 1), the extent there (offsets) of the character asked for, and what to remark.

    The extent is that of the expression that wrote the character. None: it is not known.
    """

    line: int
    extent: tuple[int, int] | None = None
    remark: str = ""


Origins = Callable[[int, int], Origin]
"""(line, column) of a character that was written -> its origin."""


def back(text: str, written: str, render: Render, request: Mapping[str, Any]) -> Back:
    """The way back from `written` to the file's text. `request` asks for a trace."""
    found: list[Origins] = []
    lines, source = written.split("\n"), text.split("\n")

    def lead(span: Span) -> tuple[Span, str]:
        if not found:
            reply = render(request)
            found.append(_traced(lines, source, reply) if reply.get("pieces") else _aligned(lines, source))
        return place(span, lines, source, found[0])

    return lead


def _traced(lines: Sequence[str], source: Sequence[str], reply: Mapping[str, Any]) -> Origins:
    """By the marks: each piece of what was written says where it comes from."""
    pieces, table, constructs = reply["pieces"], reply["lines"], reply["constructs"]
    offsets = [offset for offset, _ in pieces]
    totals = Counter(number for _, number in pieces)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def origin(line: int, column: int) -> Origin:
        spot = starts[line - 1] + column - 1
        at = max(0, bisect_right(offsets, spot) - 1)
        number = pieces[at][1]
        turn = sum(1 for _, each in pieces[: at + 1] if each == number)
        own, within, plain = table[number]
        rank = sum(1 for each in table[:number] if each[0] == own and not each[2])
        there = source[own - 1] if own <= len(source) else ""
        extent = _expression(there, rank)
        if plain:
            end = offsets[at + 1] if at + 1 < len(offsets) else starts[-1]
            begin = offsets[at] - starts[line - 1]
            extent = _literal(there, rank, lines[line - 1][begin : end - starts[line - 1]], column - 1 - begin)
        return Origin(own, extent, _remark(own, turn, totals[number], _within(constructs, within)))

    return origin


def _expression(there: str, rank: int) -> tuple[int, int] | None:
    """The extent of an expression by its number in a line; it may end in a later one."""
    start = -1
    for _ in range(rank + 1):
        start = there.find("{{", start + 2 if start >= 0 else 0)
        if start < 0:
            return None
    end = there.find("}}", start)
    return start, end + 2 if end >= 0 else len(there.rstrip())


def _literal(there: str, rank: int, piece: str, offset: int) -> tuple[int, int] | None:
    """The extent of a character of plain text, which stands behind so many expressions of its line."""
    before = _expression(there, rank - 1) if rank else None
    start = there.find(piece, before[1] if before else 0) if piece else -1
    return (start + offset, start + offset + 1) if start >= 0 else None


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


def _aligned(lines: Sequence[str], source: Sequence[str]) -> Origins:
    """The line that reads the same; where there is none, the line after the last that does."""
    guess = "the template could not be followed: the place is a guess"
    if len(lines) + len(source) > _MOST_ALIGNED:
        return lambda line, column: Origin(min(line, len(source)), None, guess)
    from difflib import SequenceMatcher

    matches: dict[int, int] = {}
    matcher = SequenceMatcher(_blank, lines, source, autojunk=False)
    for first, second, size in matcher.get_matching_blocks():
        matches.update((first + n, second + n) for n in range(size) if lines[first + n])

    def origin(line: int, column: int) -> Origin:
        if line - 1 in matches:
            return Origin(matches[line - 1] + 1, (column - 1, column))
        above = next((n for n in range(line - 2, -1, -1) if n in matches), -1)
        return Origin(min(matches.get(above, -1) + 2, len(source)), None, guess)

    return origin


def _blank(line: str) -> bool:
    """Such lines are alike and mean nothing."""
    return not line.strip()


def place(span: Span, lines: Sequence[str], source: Sequence[str], origins: Origins) -> tuple[Span, str]:
    """The place in the file: from where the first character stands to where the last does, if both can be told.

    Else where the same text stands in that line, else all that the line holds.
    """
    here = lines[span.line - 1]
    last = span.end_column - 1 if span.end_line == span.line else len(here)
    begin = origins(span.line, span.column)
    end = origins(span.line, max(last, span.column))
    line, there = begin.line, source[begin.line - 1] if begin.line <= len(source) else ""
    if begin.extent and end.extent and end.line == line:
        return Span(line, begin.extent[0] + 1, line, max(end.extent[1], begin.extent[0] + 1) + 1), begin.remark
    if begin.extent:
        return Span(line, begin.extent[0] + 1, line, begin.extent[1] + 1), begin.remark
    value = here[span.column - 1 : last]
    found = there.find(value) if value.strip() and (len(value) > 1 or there.count(value) == 1) else -1
    if found >= 0:
        return Span(line, found + 1, line, found + len(value) + 1), begin.remark
    blank = len(there) - len(there.lstrip())
    return Span(line, blank + 1, line, max(len(there.rstrip()), blank + 1) + 1), begin.remark
