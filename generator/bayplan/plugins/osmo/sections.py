"""The sections of an OSMO file. OSMO splits a template at keys at the start of a line before it reads any YAML.

A file that is not a template may be written in any form of YAML, also JSON: OSMO's client reads it and writes it again.
Source: OSMO 6.4, src/lib/utils/workflow.py, `parse_workflow_spec`; src/cli/workflow.py, `submit_workflow_helper`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    KEY,
    Diagnostic,
    Lines,
    Note,
    Outcome,
    Path,
    Route,
    SourceMap,
    Span,
    did_you_mean,
    error,
    has_errors,
    locate_all,
    warning,
)
from bayplan.plugin import load as load_yaml

KNOWN = ("workflow", "default-values", "version")
MARKERS = ("{%", "{{", "{#")
"""The beginnings of Jinja statements, expressions and comments."""
VERSION = 2
"""The only version of the format."""

TWICE = "R110"
"""The code of a duplicate key in a mapping. Like PyYAML, OSMO keeps the last one."""

_KEY = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_BELOW = frozenset(("name", "tasks", "groups", "resources", "timeout", "labels", "pool", "backend"))
"""Keys of a workflow."""


Variables = Mapping[Any, Any]
"""Keys are names. YAML allows other keys too, which no template can use."""


class Section(NamedTuple):
    """A section: its key, its text including the key, and its first line, counted from 1."""

    key: str
    text: str
    line: int

    @property
    def padded(self) -> str:
        """The text with empty lines before it, so that its line numbers are those of the file."""
        return "\n" * (self.line - 1) + self.text


class Sections(NamedTuple):
    """The sections of a file that bayplan uses."""

    workflow: Section
    defaults: Section | None


def split(text: str, subject: str) -> Outcome[Sections]:
    """R123: unknown, repeated or missing sections, another version, or text before the first section."""
    all_sections = list(_sections(text))
    findings: list[Diagnostic] = [*_preamble(text, subject), *_keys(all_sections, subject)]
    first = _KEY.search(text)
    odd = findings or "\t" in text[: first.start() if first else 0]  # YAML allows no tab there, also before a comment
    if not is_template(text) and (odd or all(each.key != "workflow" for each in all_sections)):
        return _whole(text, subject)
    by_key = {each.key: each for each in reversed(all_sections)}
    if "workflow" not in by_key:
        findings.append(_missing(subject))
    if "version" in by_key:
        findings += _version_of(by_key["version"], subject)
    if has_errors(findings):
        return Outcome(None, tuple(findings))
    return Outcome(Sections(by_key["workflow"], by_key.get("default-values")), tuple(findings))


def is_template(text: str) -> bool:
    """Whether OSMO sees a template (`is_templated_workflow`)."""
    return any(marker in text for marker in (*MARKERS, "default-values"))


def _whole(text: str, subject: str) -> Outcome[Sections]:
    """A file that is not a template, whose keys are not those of a template: all of it is the section."""
    section = Section("workflow", text, 1)
    loaded = load_yaml(text, subject, TWICE)
    if loaded.value == []:
        return Outcome(None, (_missing(subject),))
    data = loaded.value[0] if loaded.value else None
    if not isinstance(data, dict):
        return Outcome(Sections(section, None), ())  # `load` reports it
    unknown = [str(key) for key in data if key not in KNOWN]
    places = spans(SourceMap(text, identity), [(key, KEY) for key in unknown[:_MOST]])
    places += places[-1:] * (len(unknown) - len(places))  # bayplan only counts the others
    findings = [_unknown(key, (subject, AT, *place)) for key, place in zip(unknown, places, strict=True)]
    findings += () if "workflow" in data else (_missing(subject),)
    if "version" in data and (wrong := _version(data["version"])):
        place = spans(SourceMap(text, identity), [("version", KEY)])[0]
        findings.append(warning("R123", (subject, AT, *place), wrong, hint=VERSION_HINT))
    return Outcome(None if has_errors(findings) else Sections(section, None), tuple(findings))


def _sections(text: str) -> Iterable[Section]:
    keys = list(_KEY.finditer(text))
    ends = [*(key.start() for key in keys[1:]), len(text)]
    line, counted = 1, 0
    for key, end in zip(keys, ends, strict=False):  # a file without keys has one end
        line += text.count("\n", counted, key.start())
        counted = key.start()
        yield Section(key[1], text[key.start() : end], line)


def _keys(sections: list[Section], subject: str) -> Iterable[Diagnostic]:
    """Unknown and repeated sections."""
    first: dict[str, Section] = {}
    for each in sections:
        place = key_place(each, subject)
        if each.key not in KNOWN:
            yield _unknown(each.key, place)
        elif each.key in first:
            note = Note("the first is here", key_place(first[each.key], subject))
            message = f'the file has two sections "{each.key}"'
            yield error("R123", place, message, hint="remove one of the two", notes=(note,))
        first.setdefault(each.key, each)


def _missing(subject: str) -> Diagnostic:
    hint = "write `workflow:` at the start of a line, without quotes"
    return error("R123", (subject, AT, 1, 1), "the file has no section `workflow:`", hint=hint)


def _unknown(key: str, place: Route) -> Diagnostic:
    message = f'unknown section "{key}"; expected workflow, default-values or version'
    return error("R123", place, message, hint=_hint(key))


def _hint(key: str) -> str:
    if key in _BELOW:
        return f"indent it: {key} is a key of `workflow:`"
    return did_you_mean(key, KNOWN) or "remove it, or indent it if it is part of a file's text"


def _preamble(text: str, subject: str) -> Iterable[Diagnostic]:
    """Text before the first key. OSMO ignores it."""
    first = _KEY.search(text)
    for number, line in enumerate(text[: first.start() if first else 0].split("\n"), 1):
        if line.strip() and not line.startswith(("#", "---", "%")) and line.strip()[0] != "#":
            message = "OSMO ignores this text before the first section"
            place = (subject, AT, number, len(line) - len(line.lstrip()) + 1, number, len(line.rstrip()) + 1)
            yield warning("R123", place, message, hint="remove it, or move it below a section")
            return


VERSION_HINT = f"write `version: {VERSION}`, or remove it"


def _version_of(section: Section, subject: str) -> Iterable[Diagnostic]:
    """OSMO does not read this section, so an unknown version is only a warning."""
    loaded = load_yaml(section.padded, subject, TWICE).value
    value = loaded[0].get("version") if loaded and isinstance(loaded[0], dict) else None
    if wrong := _version(value):
        yield warning("R123", key_place(section, subject), wrong, hint=VERSION_HINT)


def _version(value: Any) -> str:
    if not isinstance(value, bool) and str(value) in (str(VERSION), f"{VERSION}.0"):
        return ""
    return f"the version is not {VERSION}; OSMO ignores it, and bayplan reads the file as version {VERSION}"


# Places in a template, of which Jinja reports only the line, and lines of the rendered text.

BREAK = re.compile(r"\r\n?|\n")
"""The end of a line. bayplan reads files with line feeds only, but a template may write the other line breaks."""


def key_place(section: Section, subject: str) -> Route:
    """The key of a section."""
    return (subject, AT, section.line, 1, section.line, len(section.key) + 1)


def place(text: str, line: int, subject: str, name: str = "") -> Route | None:
    """The extent of a name in a line of the template, or of the line's only piece of Jinja, or of the whole line."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    source = lines[line - 1]
    blank = len(source) - len(source.lstrip())
    first, last = _named(source, name) or _only(source) or (blank + 1, max(len(source.rstrip()), blank + 1) + 1)
    return (subject, AT, line, first, line, last)


def _named(source: str, name: str) -> tuple[int, int] | None:
    """A name in the Jinja parts of a line. If it has none, the line continues an expression, and the name may be
    anywhere in it. `.name`: an attribute."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)" if name[:1] != "." else rf"{re.escape(name)}(?!\w)")
    parts = [part.span() for part in re.finditer(r"(?s){[{%].*?(?:[%}]}|\Z)", source)] or [(0, len(source))]
    matches = (pattern.search(source, start, end) for start, end in parts if name)
    return next(((each.start() + 1, each.end() + 1) for each in matches if each), None)


def _only(source: str) -> tuple[int, int] | None:
    """The expression, statement or comment of a line that has exactly one."""
    spans = [each.span() for each in re.finditer(r"(?s){[{%#].*?(?:[%#}]}|\Z)", source)]
    return (spans[0][0] + 1, spans[0][1] + 1) if len(spans) == 1 else None


# The rendered text -> data, as PyYAML's safe loader reads it; every finding at its place in the file.

_SPELLED = ("environment", "exitActions", "credentials")
"""Mappings whose keys OSMO converts to strings, also those of each credential (OSMO 6.4, src/utils/job/task.py)."""

_MOST = 1000
"""How many keys bayplan reports."""


def load(source_map: SourceMap, text: str, subject: str) -> Outcome[dict[str, Any]]:
    """`{"workflow": ...}`. R103 to R116: invalid YAML. R110: a duplicate key. R112: a key that is not a string.
    R123: a second document."""
    loaded = load_yaml(source_map.text, subject, TWICE)
    written, source = Lines(source_map.text), Lines(text)
    findings = _merge_equal(relocate(each, source_map, written, source) for each in loaded.diagnostics)
    if loaded.value is None:
        return Outcome(None, tuple(findings))
    if len(loaded.value) > 1:
        message = f"the workflow has {len(loaded.value)} YAML documents; expected one"
        marker = re.search(r"[\r\n]---|\Z", source_map.text)
        line = written.at(marker.end() if marker else 0)[0]
        second = source_map.back(Span(line, 1, line, 4))[0]
        findings.append(error("R123", (subject, AT, *second), message, hint="remove the line `---`"))
        return Outcome(None, tuple(findings))
    data = loaded.value[0]
    if not isinstance(data, dict):
        hint = "put a space or a line break after `workflow:`"
        start = source_map.back(Span(1, 1, 1, 2))[0]
        findings.append(
            error("R123", (subject, AT, *start), "YAML does not read this as the key `workflow`", hint=hint)
        )
        return Outcome(None, tuple(findings))
    data = {key: value for key, value in data.items() if key not in KNOWN[1:]}
    odd = ((path, key) for path, key in _non_text_keys(data, ()) if not _is_spelled(path))
    strange = {(*path, str(key), KEY): key for path, key in islice(odd, _MOST)}
    findings += non_text_key_findings(strange, source_map, subject)
    return Outcome(None if strange else _with_text_keys(data), tuple(findings))


def _is_spelled(path: Path) -> bool:
    return path[-1:] in [(each,) for each in _SPELLED] or path[-2:-1] == ("credentials",)


def non_text_key_findings(keys: Mapping[Path, Any], source_map: SourceMap, subject: str) -> Iterator[Diagnostic]:
    """R112 for each path whose key is not a string."""
    for key, span in zip(keys.values(), spans(source_map, list(keys)), strict=True):
        message = f"the key is {_described(key)}; OSMO refuses keys that are not strings here"
        yield error("R112", (subject, AT, *span), message, hint="write it in quotes")


def identity(span: Span) -> tuple[Span, str]:
    """The way back if the text is the same as in the file."""
    return span, ""


def spans(source_map: SourceMap, paths: list[Path]) -> list[Span]:
    """The places of paths in the file."""
    located = locate_all(source_map.text, [(0, path) for path in paths], loaded=True) if paths else {}
    return [source_map.back(located[0, path])[0] for path in paths]


def relocate(finding: Diagnostic, source_map: SourceMap, written: Lines, source: Lines) -> Diagnostic:
    """A finding in the rendered lines, moved to its place in the file. A note shows the rendered line if it differs and
    is not empty."""
    here, remark = _relocated(finding.route, source_map)
    line = _line(written, finding.route).strip()
    other = line and line != _line(source, here).strip()
    added = tuple(Note(each) for each in (remark, f"rendered, the line is `{line[:200]}`" if other else "") if each)
    if finding.code == "R104" and "\0" in line and "\0" not in _line(source, here):
        message = "the template writes a NUL character, which YAML does not allow"
        finding = finding._replace(message=message, hint="remove it from the template")
    return finding._replace(route=here, notes=(*added, *(_note(each, source_map) for each in finding.notes)))


def _note(note: Note, source_map: SourceMap) -> Note:
    here, remark = _relocated(note.route, source_map)
    return Note(f"{note.message} ({remark})" if remark else note.message, here)


def _relocated(there: Route, source_map: SourceMap) -> tuple[Route, str]:
    """The route in the file, and the remark of the source map."""
    if AT not in there:
        return there, ""
    at = there.index(AT)
    line, column = (int(each) for each in there[at + 1 : at + 3])
    span, remark = source_map.back(Span(line, column, line, column + 1))
    return (*there[: at + 1], *span), remark


def _line(lines: Lines, there: Route) -> str:
    return lines.line(int(there[2]))


def _merge_equal(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each finding once, even if a loop wrote it many times."""
    same: dict[tuple[str, Route, str], list[Diagnostic]] = {}
    for each in findings:
        same.setdefault((each.code, each.route, each.message), []).append(each)
    more = {key: (Note(f"{len(all_) - 1} more like it"),) if len(all_) > 1 else () for key, all_ in same.items()}
    return [all_[0]._replace(notes=(*all_[0].notes, *more[key])) for key, all_ in same.items()]


def _non_text_keys(data: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The mappings with keys that are not strings, with the first such key."""
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
    """The same data with every key as a string. OSMO converts keys as Python writes them."""
    if isinstance(data, dict):
        return {str(key): _with_text_keys(value) for key, value in data.items()}
    return [_with_text_keys(value) for value in data] if isinstance(data, list) else data


def _described(key: Any) -> str:
    if isinstance(key, bool):
        return f"the boolean {str(key).lower()}"
    if key is None:
        return "null"
    return f"the number {key}" if isinstance(key, int | float) else f"a date, {key}"
