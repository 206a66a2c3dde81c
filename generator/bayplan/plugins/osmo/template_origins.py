"""Places in the rendered text -> places in the template. Only findings need this, with a second rendering.

The second rendering has marks (`sandbox.child`), so that every character has a known line. If marks would change the
rendered text, bayplan aligns the lines of the two instead, and calls the place a guess.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    Diagnostic,
    Note,
    Route,
    SourceMap,
    Span,
    count,
    did_you_mean,
    error,
    limits,
    listing,
    warning,
)
from bayplan.plugins.osmo import sections
from bayplan.plugins.osmo.sections import BREAK, Section, Variables, key_place
from bayplan.plugins.osmo.tokens import OUTPUT, TEMPLATE_TOKEN, UUID, WORKFLOW_ID, misspelt_tokens

Render = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Back = Callable[[Span], tuple[Span, str]]
ValueOrigin = Callable[[str], str]
"""The name of a variable -> the source of its value, in words; empty if unknown."""

_MOST_ALIGNED, _MOST_ALIKE = 4_000, 100_000
"""The most lines that are aligned, and the most equal pairs of them. Beyond, a line maps to the line of its number."""


class Origin(NamedTuple):
    """A line of the template (from 1), the extent (offsets) of a character in it, and a remark.

    The extent is that of the expression that wrote the character, or None if it is unknown.
    """

    line: int
    extent: tuple[int, int] | None = None
    remark: str = ""


Origins = Callable[[int, int], Origin]
"""(line, column) of a rendered character -> its origin."""


def back(
    text: str, written: str, render: Render, request: Mapping[str, Any], origin_of: ValueOrigin = lambda _: ""
) -> Back:
    """The way back from `written` to the file's text. The answer to `request` is a trace with offsets in `written`."""
    cache: list[Origins] = []
    lines, source = BREAK.split(written), text.split("\n")

    def lead(span: Span) -> tuple[Span, str]:
        if not cache:
            reply = render(request)
            cache.append(_traced(written, source, reply, origin_of) if reply.get("pieces") else _aligned(lines, source))
        return place(span._replace(line=min(span.line, len(lines))), lines, source, cache[0])

    return lead


class _Piece(NamedTuple):
    """A piece of the rendered text: its offset, the number of its mark, and which occurrence of the mark it is."""

    offset: int
    number: int
    turn: int


def _traced(written: str, source: Sequence[str], reply: Mapping[str, Any], origin_of: ValueOrigin) -> Origins:
    """The origins by the marks: each piece of the rendered text has the place that it comes from."""
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
        remarks = [_remark(own, piece.turn, totals[piece.number], _within(constructs, within))]
        if plain:
            end = offsets[at + 1] if at + 1 < len(offsets) else starts[-1]
            begin = piece.offset - starts[line - 1]
            text = lines[line - 1][max(begin, 0) : end - starts[line - 1]]
            extent = expressions.literal(own, rank, text, column - 1 - begin)
        elif extent:
            remarks.append(origin_of(_variable(source[own - 1][slice(*extent)])))
        return Origin(own, extent, "; ".join(filter(None, remarks)))

    return origin


def _ranks(table: Sequence[Sequence[int]]) -> list[int]:
    """For each mark, the number of expressions before it in its line."""
    before: Counter[int] = Counter()
    ranks: list[int] = []
    for line, _, plain in table:
        ranks.append(before[line])
        before[line] += not plain
    return ranks


def _variable(expression: str) -> str:
    """The variable at the start of an expression."""
    match = re.match(r"{{[-+]?\s*([a-zA-Z_]\w*)", expression)
    return match[1] if match else ""


_OPENED = r"(?s){%[-+]?\s*raw\b.*?(?:endraw|\Z)|{#.*?(?:#}|\Z)|{{"
"""The beginning of an expression, and raw blocks and comments, which may contain the same characters."""


class _Expressions:
    """The expressions in the lines of a template, by their number in the line. It searches each line once."""

    def __init__(self, source: Sequence[str]) -> None:
        self.source = source
        self.starts: dict[int, list[int]] = {}

    def extent(self, line: int, rank: int) -> tuple[int, int] | None:
        """The extent of an expression (offsets). It may end in a later line."""
        there = self.line(line)
        if line not in self.starts:
            self.starts[line] = [each.start() for each in re.finditer(_OPENED, there) if each[0] == "{{"]
        if not 0 <= rank < len(self.starts[line]):
            return None
        start = self.starts[line][rank]
        end = there.find("}}", start)
        return start, end + 2 if end >= 0 else len(there.rstrip())

    def literal(self, line: int, rank: int, piece: str, offset: int) -> tuple[int, int] | None:
        """The extent of a character of plain text that follows `rank` expressions of its line."""
        before = self.extent(line, rank - 1)
        start = self.line(line).find(piece, before[1] if before else 0) if piece else -1
        return (start + offset, start + offset + 1) if start >= 0 else None

    def line(self, line: int) -> str:
        return self.source[line - 1] if line <= len(self.source) else ""


def _within(constructs: Sequence[Sequence[Any]], number: int) -> str:
    """The loops and the macro around a line, outermost first."""
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
    """`line 14 is rendered 16 times; this is the 3rd (loop at line 12)`."""
    if total < 2:
        return ""
    return f"line {line} is rendered {total} times; this is the {ordinal(turn)}{f' ({within})' if within else ''}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _aligned(lines: Sequence[str], source: Sequence[str]) -> Origins:
    """The equal line, or the line after the last equal one."""
    guess = "bayplan could not trace the template: this place is a guess"
    counted = Counter(source)
    equal_pairs = sum(counted[line] for line in lines if line.strip())
    if len(lines) + len(source) > _MOST_ALIGNED or equal_pairs > _MOST_ALIKE:
        return lambda line, column: Origin(min(line, len(source)), None, guess)
    from difflib import SequenceMatcher

    matches: dict[int, int] = {}
    matcher = SequenceMatcher(lambda line: not line.strip(), lines, source, autojunk=False)
    for first, second, size in matcher.get_matching_blocks():
        matches.update((first + n, second + n) for n in range(size) if lines[first + n])

    def origin(line: int, column: int) -> Origin:
        if line - 1 in matches:
            return Origin(matches[line - 1] + 1, (column - 1, column))
        above = next((n for n in range(line - 2, -1, -1) if n in matches), -1)
        return Origin(min(matches.get(above, -1) + 2, len(source)), None, guess)

    return origin


def place(span: Span, lines: Sequence[str], source: Sequence[str], origins: Origins) -> tuple[Span, str]:
    """The place in the file: from the first character to the last, if the places of both are known.

    Otherwise the place of the same text in that line, or the whole line.
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
    start = there.find(value) if value.strip() and (len(value) > 1 or there.count(value) == 1) else -1
    if start >= 0:
        return Span(line, start + 1, line, start + len(value) + 1), begin.remark
    blank = len(there) - len(there.lstrip())
    return Span(line, blank + 1, line, max(len(there.rstrip()), blank + 1) + 1), begin.remark


# Variables without a value: one run reports all of them, at the lines that use them.

RUNTIME = (OUTPUT, WORKFLOW_ID, UUID)
"""Runtime tokens that are variables to Jinja if they have spaces or are part of an expression."""

_INDENTED = re.compile(r"^[ \t]+default-values:", re.MULTILINE)


def explain_undefined(
    reply: Mapping[str, Any], text: str, section: Section, values: Variables, subject: str
) -> Iterator[Diagnostic]:
    """R126 for each variable, and each part of one, that the template certainly uses and that has no value."""
    names = [name for name in values if isinstance(name, str)]
    misplaced = _misplaced(section, subject)
    also = reply["also"]
    notes = (Note(f"{listing(also, 'and')} may have no value either"),)
    for number, each in enumerate(reply["found"]):
        name, message = each["name"], each["message"]
        own = (*misplaced, *(notes if also and not number else ()))
        place = sections.place(text, each["line"], subject, name or f".{_quoted(message)}")
        route = place or key_place(section, subject)
        if name:
            hint = _hint(name, names, bool(misplaced))
            if name in RUNTIME:
                hint = f"for the runtime token write {{{{{name}}}}}, without spaces; otherwise {hint}"
            yield error("R126", route, f'the variable "{name}" has no value', hint=hint, notes=own)
        else:
            hint = did_you_mean(_quoted(message), each["near"]) or "correct the name, or add the value"
            yield error(
                "R126", route, f"the template uses a value that does not exist: {message}", hint=hint, notes=own
            )


def _misplaced(section: Section, subject: str) -> tuple[Note, ...]:
    """Default values inside the workflow are data, and templates do not see them."""
    match = _INDENTED.search(section.text)
    if not match:
        return ()
    line = section.line + section.text.count("\n", 0, match.end())
    place: Route = (subject, AT, line, len(match[0]) - len("default-values:") + 1, line, len(match[0]))
    return (Note("default-values is inside `workflow:` here, where OSMO does not read it", place),)


def _hint(name: str, names: list[str], misplaced: bool) -> str:
    near = did_you_mean(name, names)
    way = f"pass --set {name}=VALUE, or add it under default-values"
    if misplaced:
        way = f"write `default-values:` at the start of a line, after the workflow, or pass --set {name}=VALUE"
    return f"{near} Otherwise {way}" if near else way


def _quoted(message: str) -> str:
    """The last name that Jinja quotes."""
    quoted = re.findall(r"'([^']*)'", message)
    return quoted[-1] if quoted else ""


# Failures of rendering -> diagnostics.

TIME, MEMORY = "half a second", "100 MiB"
"""OSMO's limits for a template."""

CLOCK = "pass the time with --set, or read the clock in the command: a template must give the same result in every run"


def explain_failures(
    reply: Mapping[str, Any], text: str, section: Section, values: Variables, subject: str
) -> tuple[Diagnostic, ...]:
    """R126 to R127, by the reply of the process."""
    kind, message = reply["failure"], reply.get("message", "").rstrip(".")
    if kind == "undefined":
        return tuple(explain_undefined(reply, text, section, values, subject))
    route = sections.place(text, reply.get("line") or 0, subject) or key_place(section, subject)
    if kind == "syntax":
        return (_broken(text, route, message, reply.get("column", 0)),)
    if kind == "security":
        hint = "use only variables, filters and plain methods, as in OSMO"
        return (error("R127", route, f"the sandbox does not allow this: {message}", hint=hint),)
    if kind == "object":
        hint = "call it, or make a list of it: `... | list`"
        return (error("R127", route, f"the template writes {message}, which is a Python object", hint=hint),)
    if kind == "clock":
        message = f"the template reads the clock: {message}"
        return (error("R127", route, message, hint=CLOCK),)
    if kind == "time":
        message = f"the template needs more than {TIME} of processor time, the limit of OSMO"
        return (error("R127", route, message, hint="look for loops over large ranges"),)
    if kind == "total":
        most = count(limits().seconds, "second")
        message = f"the templates of this run need more than {most} of processor time together"
        hint = "look for loops over large ranges; to raise the limit, set --limit seconds=N"
        return (error("R127", route, message, hint=hint),)
    if kind in ("memory", "size"):
        message = f"the template needs more than {MEMORY} of memory, the limit of OSMO"
        if kind == "size":
            message = "the template writes more than 16 Mi characters"
        return (error("R127", route, message, hint="look for a loop that makes a string or a list grow"),)
    return (error("R127", route, f"Jinja cannot render the template: {message}", hint=_other_hint(message)),)


def _broken(text: str, route: Route, message: str, column: int) -> Diagnostic:
    """R127 at a misspelled runtime token that explains it, or at the column if Jinja reports one, or at the line."""
    subject, _, line, *_ = route
    source = text.split("\n")[int(line) - 1]
    token = (
        next((each for each in misspelt_tokens(source) if ":" in each.token), None) if "got ':'" in message else None
    )
    if token is not None:
        route = (subject, AT, line, token.start + 1, line, token.end + 1)
        hint = f"write {token.token}: a runtime token has no spaces"
    else:
        route = (subject, AT, line, column, line, column + 1) if column else route
        hint = _syntax_hint(source)
    return error("R127", route, f"the template has a syntax error: {message}", hint=hint)


def _syntax_hint(source: str) -> str:
    if "{#" in source:
        return "put {% raw %} and {% endraw %} around {# if it does not begin a Jinja comment"
    return "put {% raw %} and {% endraw %} around text that is not Jinja" if "{{" in source else ""


def _other_hint(message: str) -> str:
    if "loader" in message:
        return "remove include, import and extends: a workflow is one file"
    return "install jinja2: `pip install 'jinja2>=3.1,<4'`" if "not installed" in message else ""


# Variables as JSON, as `sandbox.child` unpacks them. `pack` detects a date by its methods, without `datetime`.


def pack(value: Any) -> Any:
    """The value in JSON's own types; a mapping is `{"map": [[key, value], ...]}`."""
    if isinstance(value, dict):
        return {"map": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if hasattr(value, "isoformat"):
        return {type(value).__name__: value.isoformat()}
    return value


# Tokens that Jinja did not see, in the rendered text. No workflow should have them.

_MOST = 100
"""How many tokens bayplan finds the places of."""


def raw_block_findings(rendered: SourceMap, starts: Sequence[int], subject: str) -> tuple[Diagnostic, ...]:
    """R138: OSMO does not restore the token for its variable in a raw block. `starts`: the offsets of these tokens."""
    remarks: dict[Span, str] = {}
    for start in starts[:_MOST]:
        token = TEMPLATE_TOKEN.match(rendered.text, start)
        span, remark = rendered.back(_span(rendered.text, start, token.end() if token else start + 1))
        remarks.setdefault(span, remark)
    more = (Note(f"{len(starts) - _MOST} more like it"),) if len(starts) > _MOST else ()
    message = "a runtime token is in a raw block or a string of Jinja, where OSMO loses it; bayplan keeps it"
    hint = "move it out: tokens need no raw block"
    findings = [
        warning("R138", (subject, AT, *span), message, hint=hint, notes=(Note(remarks[span]),) if remarks[span] else ())
        for span in remarks
    ]
    return (*findings[:-1], *(each._replace(notes=(*each.notes, *more)) for each in findings[-1:]))


def _span(text: str, start: int, end: int) -> Span:
    """The first line of a piece of text."""
    before = BREAK.split(text[:start])
    line, column = len(before), len(before[-1]) + 1
    return Span(line, column, line, column + len(BREAK.split(text[start:end])[0]))
