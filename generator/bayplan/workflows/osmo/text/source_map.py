"""Places in what a template wrote -> places in the template. Only a finding pays for it: with a second rendering.

That rendering carries marks (`bayplan.sandbox.marks`), so that whatever is written has a known line. Where marks would
change what is written, the lines of both texts are aligned instead, and the place is called a guess.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayplan.text.document import Span
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.text.spots import BREAK

Render = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Back = Callable[[Span], tuple[Span, str]]
Given = Callable[[str], str]
"""The name of a variable -> where its value is given, in words; empty where that is not known."""

_MOST_ALIGNED, _MOST_ALIKE = 4_000, 100_000
"""Lines that are aligned, and pairs of them that are alike; beyond, a line is taken for the one of its number."""


class Origin(NamedTuple):
    """A line of the template (from 1), the extent there (offsets) of the character asked for, and what to remark.

    The extent is that of the expression that wrote the character. None: it is not known.
    """

    line: int
    extent: tuple[int, int] | None = None
    remark: str = ""


Origins = Callable[[int, int], Origin]
"""(line, column) of a character that was written -> its origin."""


def back(text: str, written: str, render: Render, request: Mapping[str, Any], given: Given = lambda _: "") -> Back:
    """The way back from `written` to the file's text. `request` asks for a trace, whose offsets are in `written`."""
    found: list[Origins] = []
    lines, source = BREAK.split(written), text.split("\n")

    def lead(span: Span) -> tuple[Span, str]:
        if not found:
            reply = render(request)
            found.append(_traced(written, source, reply, given) if reply.get("pieces") else _aligned(lines, source))
        return place(span._replace(line=min(span.line, len(lines))), lines, source, found[0])

    return lead


class _Piece(NamedTuple):
    """What one mark tells: where the piece begins (an offset), the mark's number, and which of its times this is."""

    offset: int
    number: int
    turn: int


def _traced(written: str, source: Sequence[str], reply: Mapping[str, Any], given: Given) -> Origins:
    """By the marks: each piece of what was written says where it comes from."""
    table, constructs = reply["lines"], reply["constructs"]
    totals: Counter[int] = Counter()
    pieces: list[_Piece] = []
    for offset, number in reply["pieces"]:
        totals[number] += 1
        pieces.append(_Piece(offset, number, totals[number]))
    offsets, ranks, expressions = [each.offset for each in pieces], _ranks(table), _Expressions(source)
    lines, starts = BREAK.split(written), [0, *(each.end() for each in BREAK.finditer(written)), len(written) + 1]

    def origin(line: int, column: int) -> Origin:
        at = max(0, bisect_right(offsets, starts[line - 1] + column - 1) - 1)
        piece = pieces[at]
        own, within, plain = table[piece.number]
        extent, rank = expressions.extent(own, ranks[piece.number]), ranks[piece.number]
        said = [_remark(own, piece.turn, totals[piece.number], _within(constructs, within))]
        if plain:
            end = offsets[at + 1] if at + 1 < len(offsets) else starts[-1]
            begin = piece.offset - starts[line - 1]
            text = lines[line - 1][max(begin, 0) : end - starts[line - 1]]
            extent = expressions.literal(own, rank, text, column - 1 - begin)
        elif extent:
            said.append(given(_variable(source[own - 1][slice(*extent)])))
        return Origin(own, extent, "; ".join(filter(None, said)))

    return origin


def _ranks(table: Sequence[Sequence[int]]) -> list[int]:
    """For each mark, how many expressions stand before it in its line."""
    before: Counter[int] = Counter()
    found: list[int] = []
    for line, _, plain in table:
        found.append(before[line])
        before[line] += not plain
    return found


def _variable(expression: str) -> str:
    """The variable that an expression begins with."""
    found = re.match(r"{{[-+]?\s*([a-zA-Z_]\w*)", expression)
    return found[1] if found else ""


_OPENED = r"{%[-+]?\s*raw\b.*?(?:endraw|$)|{#.*?(?:#}|$)|{{"
"""An expression's beginning, and what may hold the same sign and is none."""


class _Expressions:
    """The expressions in the lines of a template, by their number in the line. Each line is searched once."""

    def __init__(self, source: Sequence[str]) -> None:
        self.source = source
        self.starts: dict[int, list[int]] = {}

    def extent(self, line: int, rank: int) -> tuple[int, int] | None:
        """Where an expression stands (offsets); it may end in a later line."""
        there = self.line(line)
        if line not in self.starts:
            self.starts[line] = [each.start() for each in re.finditer(_OPENED, there) if each[0] == "{{"]
        if not 0 <= rank < len(self.starts[line]):
            return None
        start = self.starts[line][rank]
        end = there.find("}}", start)
        return start, end + 2 if end >= 0 else len(there.rstrip())

    def literal(self, line: int, rank: int, piece: str, offset: int) -> tuple[int, int] | None:
        """Where a character of plain text stands, behind so many expressions of its line."""
        before = self.extent(line, rank - 1)
        start = self.line(line).find(piece, before[1] if before else 0) if piece else -1
        return (start + offset, start + offset + 1) if start >= 0 else None

    def line(self, line: int) -> str:
        return self.source[line - 1] if line <= len(self.source) else ""


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
    if len(lines) + len(source) > _MOST_ALIGNED or _alike(lines, source) > _MOST_ALIKE:
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


def _alike(lines: Sequence[str], source: Sequence[str]) -> int:
    """How many pairs of lines read the same."""
    counted = Counter(source)
    return sum(counted[line] for line in lines if not _blank(line))


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
