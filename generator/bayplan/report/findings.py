"""Routes -> places: a finding is a diagnostic with lines and columns of files instead of routes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.diagnostics import AT, SEVERITIES, Diagnostic, Route, Severity, origin
from bayplan.core.phrases import count
from bayplan.report import Batch
from bayplan.text.document import Document, Span, locate_all, spans_of
from bayplan.text.source import Lines, limits


class Place(NamedTuple):
    """A part of a file. Numbers start at 1, and the end is exclusive; line 0 is the whole file. `source`: the line."""

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    source: str = ""


class Remark(NamedTuple):
    """A note with its place."""

    message: str
    place: Place | None


class Finding(NamedTuple):
    """A diagnostic with its places. A finding without a place is about the run or its command line.

    `str` is its text, as a report on a terminal shows it.
    """

    place: Place | None
    code: str
    severity: Severity
    message: str
    notes: tuple[Remark, ...]
    hint: str

    def __str__(self) -> str:
        return "\n".join(text_lines(self, plain))


def findings(batches: Iterable[Batch]) -> tuple[Finding, ...]:
    """The findings without duplicates, by file, line, column and code. Findings without a file come first."""
    unique: set[Finding] = set()
    for batch in map(_first, batches):
        routes = [route for d in batch.diagnostics for route in (d.route, *(note.route for note in d.notes))]
        places = iter(_places([source_route(route, batch.origins) for route in routes], batch.sources))
        unique.update(_once([_finding(diagnostic, places) for diagnostic in batch.diagnostics]))
    return tuple(sorted(unique, key=_order))


def places(routes: Sequence[Route], batch: Batch) -> list[Place | None]:
    """The places of routes in the sources of a batch. None: the route is in none of them."""
    return [place for place, _ in _places([source_route(route, batch.origins) for route in routes], batch.sources)]


def _first(batch: Batch) -> Batch:
    """The batch with its first findings, errors before others. R158: it has more.

    The report of a large file would otherwise need more memory than its data.
    """
    most = limits().findings
    if len(batch.diagnostics) <= most:
        return batch
    by_severity = sorted(batch.diagnostics, key=lambda each: SEVERITIES.index(each.severity))
    omitted = Counter(each.severity for each in by_severity[most:])
    more = ", ".join(count(number, severity) for severity, number in omitted.items())
    hint = "correct what it shows, and run the command again; to show more, set --limit findings=N"
    last = Diagnostic("R158", next(iter(omitted)), f"this report leaves out {more}", hint=hint)
    return batch._replace(diagnostics=(*by_severity[:most], last))


def _order(finding: Finding) -> tuple[object, ...]:
    """By place, then by the rest without source lines, which may be long."""
    place = finding.place or Place("")
    notes = [(note.message, note.place and note.place[:5]) for note in finding.notes]
    rest = repr((place[3:5], finding.severity, notes, finding.hint))
    return place.file, place.line, place.column, finding.code, finding.message, rest


def _once(pairs: Sequence[tuple[Finding, bool]]) -> list[Finding]:
    """One of the findings that differ only in the iteration of a template loop, with the number of others."""
    alike: dict[object, list[Finding]] = {}
    for number, (each, remarked) in enumerate(pairs):
        key = (each.place, each.code, each.severity, each.message, each.hint) if remarked else number
        alike.setdefault(key, []).append(each)
    return [
        same[0]._replace(notes=(*same[0].notes, Remark(f"{len(same) - 1} more like it", None))) if same[1:] else same[0]
        for same in alike.values()
    ]


def _finding(diagnostic: Diagnostic, places: Iterator[tuple[Place | None, str]]) -> tuple[Finding, bool]:
    """A diagnostic with the next places: its own and those of its notes. The first note is the remark on its place."""
    code, severity, message, _, notes, hint = diagnostic
    own, remark = next(places)
    remarks = [Remark(remark, None)] if remark else []
    for note in notes:
        place, more = next(places)
        remarks.append(Remark(f"{note.message} ({more})" if more else note.message, place))
    return Finding(own, code, severity, message, tuple(remarks), hint), bool(remark)


def source_route(route: Route, origins: Mapping[str, Mapping[Route, Route]]) -> Route:
    """The route in the file: the origin of the longest known part of a model route, and the rest of the route."""
    table = origins.get(str(route[0])) if route else None
    if not table or AT in route:
        return route
    mapped = origin(route, table)
    if mapped and AT in mapped[0]:
        return mapped[0]
    return (*mapped[0], *mapped[1]) if mapped else route


def _places(routes: Sequence[Route], sources: Mapping[str, Document]) -> list[tuple[Place | None, str]]:
    """The places of the routes, each with its remark. It reads every text once."""
    paths: dict[str, set[Route]] = {}
    for route in routes:
        if route and AT not in route and route[0] in sources:
            paths.setdefault(str(route[0]), set()).add(route[1:])
    spans = _spans(sources, paths)
    texts = {text: Lines(text) for text in {sources[str(r[0])].text for r in routes if r and r[0] in sources}}
    lines = {subject: texts[document.text] for subject, document in sources.items() if document.text in texts}
    return [_place(route, sources, spans, lines) for route in routes]


def _spans(
    sources: Mapping[str, Document], paths: Mapping[str, set[Route]]
) -> dict[str, dict[Route, tuple[Span, str]]]:
    """The spans of paths by subject, in one pass over each text."""
    spans_by_subject: dict[str, dict[Route, tuple[Span, str]]] = {}
    together: dict[str, list[str]] = {}
    for subject in paths:
        document = sources[subject]
        if document.source_map is None:
            together.setdefault(document.text, []).append(subject)
        else:
            spans_by_subject[subject] = spans_of(document, paths[subject])
    for text, subjects in together.items():
        indexed = [(sources[subject].index, path) for subject in subjects for path in paths[subject]]
        spans = locate_all(text, indexed) if text else {}
        for subject in subjects:
            index = sources[subject].index
            spans_by_subject[subject] = {
                path: (spans[index, path], "") for path in paths[subject] if (index, path) in spans
            }
    return spans_by_subject


def _place(
    route: Route,
    sources: Mapping[str, Document],
    spans: Mapping[str, Mapping[Route, tuple[Span, str]]],
    lines: Mapping[str, Lines],
) -> tuple[Place | None, str]:
    subject = str(route[0]) if route else ""
    if subject not in sources:
        return None, ""
    name = sources[subject].name
    span, remark = (_at(route), "") if AT in route else spans.get(subject, {}).get(route[1:], (None, ""))
    if span is None or not (sources[subject].text or AT in route):
        return Place(name), remark
    return Place(name, *span, lines[subject].line(span.line)), remark


def _at(route: Route) -> Span:
    """The line and column after the marker, and those of the end if there is more than one character."""
    line, column, *end = (int(each) for each in route[route.index(AT) + 1 :])
    return Span(line, column, *end) if end else Span(line, column, line, column + 1)


# Findings as people read them: place, message, the line of the file with what is meant underlined, notes, a hint.

Paint = Callable[[str, str], str]
"""(role, text) -> text. Roles: error warning info (severities), place, gutter, label."""

WIDEST = 120
"""Characters of a source line that are shown, around the place that is meant."""

BEFORE = 40
"""Characters before that place, where a line must be cut."""


def plain(role: str, text: str) -> str:
    """No colours."""
    return text


def text_lines(finding: Finding, paint: Paint) -> Iterator[str]:
    label = paint(finding.severity, f"{finding.severity}[{finding.code}]:")
    yield f"{paint('place', where(finding.place, 'bayplan'))}: {label} {escape(finding.message)}"
    if finding.place and finding.place.source.strip():
        source, underline = excerpt(finding.place)
        yield paint("gutter", f"{finding.place.line:>5} | ") + source
        yield paint("gutter", f"{'':>5} | ") + paint(finding.severity, underline)
    for note in finding.notes:
        place = f"{where(note.place)}: " if note.place else ""
        yield f"  {paint('label', 'note:')} {place}{escape(note.message)}"
    if finding.hint:
        yield f"  {paint('label', 'hint:')} {escape(finding.hint)}"


def where(place: Place | None, nowhere: str = "") -> str:
    """`workflow.yaml:14:17`, or `workflow.yaml` for the file as a whole.

    GitHub Actions would take a line that begins with two colons for a command.
    """
    if place is None:
        return nowhere
    file = f"{'./' * place.file.lstrip().startswith('::')}{escape(place.file)}"
    return f"{file}:{place.line}:{place.column}" if place.line else file


def escape(text: str) -> str:
    """The text without characters that move the cursor or cannot be seen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def excerpt(place: Place) -> tuple[str, str]:
    """The source line, cut where it is very long, and what underlines the place in it."""
    line, first = place.source, place.column - 1
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    start = max(0, first - BEFORE) if len(line) > WIDEST else 0
    end = start + WIDEST
    left, right = "..." if start else "", "..." if end < len(line) else ""
    cells = [_cell(c) for c in line[start:end]]
    pad = len(left) + sum(_width(cell) for cell in cells[: first - start])
    length = sum(_width(cell) for cell in cells[first - start : last - start])
    return f"{left}{''.join(cells)}{right}".rstrip(), " " * pad + "^" + "~" * (length - 1)


def _cell(character: str) -> str:
    """What stands for a character of a source line."""
    if character.isprintable() or character == "\u00a0":
        return character
    return "    " if character == "\t" else "\ufffd"


def _width(cell: str) -> int:
    """Columns of a terminal that a cell takes."""
    if cell.isascii():
        return len(cell)
    from unicodedata import combining, east_asian_width

    return 0 if combining(cell) else 2 if east_asian_width(cell) in "WF" else 1
