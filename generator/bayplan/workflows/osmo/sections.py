"""The sections of an OSMO file: what stands below a key at the start of a line, split before anything is YAML.

Source: OSMO 6.4, src/lib/utils/workflow.py, `parse_workflow_spec`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from bayplan.core.diagnostics import AT, KEY, Diagnostic, Note, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import did_you_mean
from bayplan.core.values import NamedTuple
from bayplan.text.document import Path, SourceMap, Span, locate_all
from bayplan.text.document import load as load_yaml

KNOWN = ("workflow", "default-values", "version")
VERSION = 2
"""The only version of the format there is."""

TWICE = "R132"
"""The code of a key that is given twice in data, which OSMO reads as Python does."""

_KEY = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_BELOW = frozenset(("name", "tasks", "groups", "resources", "timeout", "labels", "pool", "backend"))
"""Keys of a workflow."""


Variables = Mapping[Any, Any]
"""Keys are names; YAML may have others, which no template can use."""


class Section(NamedTuple):
    """A section: its key, its text with the key, and the line (from 1) that begins it."""

    key: str
    text: str
    line: int

    @property
    def padded(self) -> str:
        """The text, moved down to its own line: a place in it is a place in the file."""
        return "\n" * (self.line - 1) + self.text


class Sections(NamedTuple):
    """The sections of a file that count."""

    workflow: Section
    defaults: Section | None


def split(text: str, subject: str) -> Outcome[Sections]:
    """R121 unknown key, R122 a key given twice, R123 no workflow, R124 an odd version, R139 text in no section."""
    all_sections = list(_sections(text))
    findings: list[Diagnostic] = [*_preamble(text, subject), *_keys(all_sections, subject)]
    by_key = {each.key: each for each in reversed(all_sections)}
    if "workflow" not in by_key:
        hint = "write `workflow:` at the very start of a line, without quotes"
        findings.append(error("R123", (subject, AT, 1, 1), "the file has no section `workflow:`", hint=hint))
    if "version" in by_key:
        findings += _version(by_key["version"], subject)
    if has_errors(findings):
        return Outcome(None, tuple(findings))
    return Outcome(Sections(by_key["workflow"], by_key.get("default-values")), tuple(findings))


def _sections(text: str) -> Iterable[Section]:
    keys = list(_KEY.finditer(text))
    ends = [*(key.start() for key in keys[1:]), len(text)]
    line, counted = 1, 0
    for key, end in zip(keys, ends, strict=True):
        line += text.count("\n", counted, key.start())
        counted = key.start()
        yield Section(key[1], text[key.start() : end], line)


def _keys(sections: list[Section], subject: str) -> Iterable[Diagnostic]:
    """Keys that OSMO does not know, or meets twice."""
    first: dict[str, Section] = {}
    for each in sections:
        place = key_place(each, subject)
        if each.key not in KNOWN:
            message = f'unknown section "{each.key}"; OSMO knows workflow, default-values and version'
            yield error("R121", place, message, hint=_hint(each.key))
        elif each.key in first:
            note = Note("it was first given here", key_place(first[each.key], subject))
            yield error("R122", place, f'section "{each.key}" is given twice', hint="keep one of them", notes=(note,))
        first.setdefault(each.key, each)


def _hint(key: str) -> str:
    if key in _BELOW:
        return f"indent it: {key} belongs below `workflow:`"
    return did_you_mean(key, KNOWN) or "remove it, or indent it where it belongs to the text of a file"


def _preamble(text: str, subject: str) -> Iterable[Diagnostic]:
    """What stands before the first key, which OSMO drops."""
    first = _KEY.search(text)
    for number, line in enumerate(text[: first.start() if first else 0].split("\n"), 1):
        if line.strip() and not line.startswith(("#", "---", "%")) and line.strip()[0] != "#":
            message = "this stands before the first section, and OSMO drops it"
            place = (subject, AT, number, len(line) - len(line.lstrip()) + 1, number, len(line.rstrip()) + 1)
            yield warning("R139", place, message, hint="remove it, or write a section's key at the start of the line")
            return


def _version(section: Section, subject: str) -> Iterable[Diagnostic]:
    """OSMO drops this section unread, so a version that it does not have is no error there."""
    loaded = load_yaml(section.padded, subject, TWICE).value
    value = loaded[0].get("version") if loaded and isinstance(loaded[0], dict) else None
    if isinstance(value, bool) or str(value) not in (str(VERSION), f"{VERSION}.0"):
        message = f"OSMO drops the version unread; this is not {VERSION}, and the file is read as version {VERSION}"
        yield warning("R124", key_place(section, subject), message, hint=f"write `version: {VERSION}`, or remove it")


# Places in a template, for which Jinja reports only the line; and lines of the rendered text.

BREAK = re.compile(r"\r\n?|\n")
"""What ends a line. The file's text has line feeds only, but a template may write the others."""


def key_place(section: Section, subject: str) -> Route:
    """The key of a section."""
    return (subject, AT, section.line, 1, section.line, len(section.key) + 1)


def place(text: str, line: int, subject: str, name: str = "") -> Route | None:
    """The name in a line of the template, else the only thing there that is Jinja's, else all of the line."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    source = lines[line - 1]
    blank = len(source) - len(source.lstrip())
    first, last = _named(source, name) or _only(source) or (blank + 1, max(len(source.rstrip()), blank + 1) + 1)
    return (subject, AT, line, first, line, last)


def _named(source: str, name: str) -> tuple[int, int] | None:
    """A name in what is Jinja's of a line; of an expression of several lines, anywhere in it. `.name`: a part."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)" if name[:1] != "." else rf"{re.escape(name)}(?!\w)")
    parts = [part.span() for part in re.finditer(r"{[{%].*?(?:[%}]}|$)", source)] or [(0, len(source))]
    matches = (pattern.search(source, start, end) for start, end in parts if name)
    return next(((each.start() + 1, each.end() + 1) for each in matches if each), None)


def _only(source: str) -> tuple[int, int] | None:
    """The expression, statement or comment of a line with one of them."""
    spans = [each.span() for each in re.finditer(r"{[{%#].*?(?:[%#}]}|$)", source)]
    return (spans[0][0] + 1, spans[0][1] + 1) if len(spans) == 1 else None


# The rendered text -> data, as PyYAML's safe loader reads it; every finding at its place in the file.

_SPELLED = ("environment", "exitActions")
"""Mappings whose keys OSMO makes texts of (OSMO 6.4, src/utils/job/task.py)."""

_MOST = 1000
"""Keys that are told of."""


def load(source_map: SourceMap, text: str, subject: str) -> Outcome[dict[str, Any]]:
    """`{"workflow": ...}`. R103 to R119: no YAML; R132: a key given twice; R133: a key that is no text; R139: more."""
    loaded = load_yaml(source_map.text, subject, TWICE)
    written, source = BREAK.split(source_map.text), text.split("\n")
    findings = _merge_equal(relocate(each, source_map, written, source) for each in loaded.diagnostics)
    if loaded.value is None:
        return Outcome(None, tuple(findings))
    if len(loaded.value) > 1:
        message = f"the workflow holds {len(loaded.value)} YAML documents; one is wanted"
        line = next((n for n, each in enumerate(written, 1) if n > 1 and each.startswith("---")), len(written))
        second = source_map.back(Span(line, 1, line, 4))[0]
        findings.append(error("R139", (subject, AT, *second), message, hint="remove the line `---`"))
        return Outcome(None, tuple(findings))
    data = loaded.value[0]
    if not isinstance(data, dict):
        hint = "write a space or the end of the line after `workflow:`"
        start = source_map.back(Span(1, 1, 1, 2))[0]
        findings.append(error("R123", (subject, AT, *start), "this is no key of YAML", hint=hint))
        return Outcome(None, tuple(findings))
    odd = ((path, key) for path, key in _non_text_keys(data, ()) if path[-1:] not in [(each,) for each in _SPELLED])
    strange = {(*path, str(key), KEY): key for path, key in islice(odd, _MOST)}
    findings += non_text_key_findings(strange, source_map, subject)
    return Outcome(None if strange else _with_text_keys(data), tuple(findings))


def non_text_key_findings(keys: Mapping[Path, Any], source_map: SourceMap, subject: str) -> Iterator[Diagnostic]:
    """R133 for each path with its key that is no text."""
    for key, span in zip(keys.values(), spans(source_map, list(keys)), strict=True):
        message = f"this key is {_described(key)}, expected text; OSMO refuses it here"
        yield error("R133", (subject, AT, *span), message, hint="write it in quotes")


def identity(span: Span) -> tuple[Span, str]:
    """The way back where a text stands as in the file."""
    return span, ""


def spans(source_map: SourceMap, paths: list[Path]) -> list[Span]:
    """The places of paths in the file."""
    located = locate_all(source_map.text, [(0, path) for path in paths], loaded=True) if paths else {}
    return [source_map.back(located[0, path])[0] for path in paths]


def relocate(finding: Diagnostic, source_map: SourceMap, written: Sequence[str], source: Sequence[str]) -> Diagnostic:
    """A finding in the lines that were written, brought back into the file's; where its line is another, that is said.

    An empty line says nothing.
    """
    here, remark = _relocated(finding.route, source_map)
    line = _line(written, finding.route).strip()
    other = line and line != _line(source, here).strip()
    added = tuple(Note(each) for each in (remark, f"rendered, the line is `{line[:200]}`" if other else "") if each)
    if finding.code == "R105" and "\0" in line and "\0" not in _line(source, here):
        finding = finding._replace(message="the template writes a NUL, which no text may hold", hint="leave it out")
    return finding._replace(route=here, notes=(*added, *(_note(each, source_map) for each in finding.notes)))


def _note(note: Note, source_map: SourceMap) -> Note:
    here, remark = _relocated(note.route, source_map)
    return Note(f"{note.message} ({remark})" if remark else note.message, here)


def _relocated(there: Route, source_map: SourceMap) -> tuple[Route, str]:
    """The route in the file, and what the source map remarks."""
    if AT not in there:
        return there, ""
    at = there.index(AT)
    line, column = (int(each) for each in there[at + 1 : at + 3])
    span, remark = source_map.back(Span(line, column, line, column + 1))
    return (*there[: at + 1], *span), remark


def _line(lines: Sequence[str], there: Route) -> str:
    return lines[int(there[2]) - 1] if 0 < int(there[2]) <= len(lines) else ""


def _merge_equal(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each finding once, though a loop may have written it many times."""
    same: dict[tuple[str, Route, str], list[Diagnostic]] = {}
    for each in findings:
        same.setdefault((each.code, each.route, each.message), []).append(each)
    more = {key: (Note(f"{len(all_) - 1} more like it"),) if len(all_) > 1 else () for key, all_ in same.items()}
    return [all_[0]._replace(notes=(*all_[0].notes, *more[key])) for key, all_ in same.items()]


def _non_text_keys(data: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The mappings that hold keys which are no texts, with the first of them."""
    if isinstance(data, dict):
        odd = [key for key in data if not isinstance(key, str)]
        if odd:
            yield path, odd[0]
        for key, value in data.items():
            yield from _non_text_keys(value, (*path, str(key)))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _non_text_keys(value, (*path, number))


def _with_text_keys(data: Any) -> Any:
    """The same with every key written as Python writes it, which is how OSMO makes texts of them."""
    if isinstance(data, dict):
        return {str(key): _with_text_keys(value) for key, value in data.items()}
    return [_with_text_keys(value) for value in data] if isinstance(data, list) else data


def _described(key: Any) -> str:
    if isinstance(key, bool):
        return f"the boolean {str(key).lower()}"
    if key is None:
        return "null"
    return f"the number {key}" if isinstance(key, int | float) else f"a date, {key}"
