"""The rendered text -> data, as PyYAML's safe loader reads it; every finding at its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from bayplan.diagnostics import AT, KEY, Diagnostic, Note, Outcome, Route, error
from bayplan.text.document import Path, SourceMap, Span, locate_all
from bayplan.text.document import load as load_yaml
from bayplan.workflows.osmo.text.spots import BREAK

_SPELLED = ("environment", "exitActions")
"""Mappings whose keys OSMO makes texts of (OSMO 6.4, src/utils/job/task.py)."""

_MOST = 1000
"""Keys that are told of."""


def load(source_map: SourceMap, text: str, subject: str) -> Outcome[dict[str, Any]]:
    """`{"workflow": ...}`. R103 to R119: no YAML; R132: a key given twice; R133: a key that is no text; R139: more."""
    loaded = load_yaml(source_map.text, subject, "R132")
    written, source = BREAK.split(source_map.text), text.split("\n")
    found = _alike(home(each, source_map, written, source) for each in loaded.diagnostics)
    if loaded.value is None:
        return Outcome(None, tuple(found))
    if len(loaded.value) > 1:
        message = f"the workflow holds {len(loaded.value)} YAML documents; one is wanted"
        found.append(error("R139", (subject, AT, *_second(source_map)), message, hint="remove the line `---`"))
        return Outcome(None, tuple(found))
    data = loaded.value[0]
    if not isinstance(data, dict):
        hint = "write a space or the end of the line after `workflow:`"
        found.append(
            error("R123", (subject, AT, *source_map.back(Span(1, 1, 1, 2))[0]), "this is no key of YAML", hint=hint)
        )
        return Outcome(None, tuple(found))
    odd = ((path, key) for path, key in _strange_keys(data, ()) if path[-1:] not in [(each,) for each in _SPELLED])
    strange = {(*path, str(key), KEY): key for path, key in islice(odd, _MOST)}
    found += refused(strange, source_map, subject)
    return Outcome(None if strange else _with_text_keys(data), tuple(found))


def refused(keys: Mapping[Path, Any], source_map: SourceMap, subject: str) -> Iterator[Diagnostic]:
    """R133 for each path with its key that is no text."""
    for key, span in zip(keys.values(), spans(source_map, list(keys)), strict=True):
        message = f"this key is {_described(key)}, expected text; OSMO refuses it here"
        yield error("R133", route(subject, span), message, hint="write it in quotes")


def unmoved(span: Span) -> tuple[Span, str]:
    """The way back where a text stands as in the file."""
    return span, ""


def spans(source_map: SourceMap, paths: list[Path]) -> list[Span]:
    """The places of paths in the file."""
    located = locate_all(source_map.text, [(0, path) for path in paths], loaded=True) if paths else {}
    return [source_map.back(located[0, path])[0] for path in paths]


def route(subject: str, span: Span) -> Route:
    """The route of a place in the file."""
    return (subject, AT, *span)


def home(found: Diagnostic, source_map: SourceMap, written: Sequence[str], source: Sequence[str]) -> Diagnostic:
    """A finding in the lines that were written, brought back into the file's; where its line is another, that is said.

    An empty line says nothing.
    """
    here, remark = _home(found.route, source_map)
    line = _line(written, found.route).strip()
    other = line and line != _line(source, here).strip()
    said = tuple(Note(each) for each in (remark, f"rendered, the line is `{line[:200]}`" if other else "") if each)
    if found.code == "R105" and "\0" in line and "\0" not in _line(source, here):
        found = found._replace(message="the template writes a NUL, which no text may hold", hint="leave it out")
    return found._replace(route=here, notes=(*said, *(_note(each, source_map) for each in found.notes)))


def _note(note: Note, source_map: SourceMap) -> Note:
    here, remark = _home(note.route, source_map)
    return Note(f"{note.message} ({remark})" if remark else note.message, here)


def _home(there: Route, source_map: SourceMap) -> tuple[Route, str]:
    """The route in the file, and what the source map remarks."""
    if AT not in there:
        return there, ""
    at = there.index(AT)
    line, column = (int(each) for each in there[at + 1 : at + 3])
    span, remark = source_map.back(Span(line, column, line, column + 1))
    return (*there[: at + 1], *span), remark


def _line(lines: Sequence[str], there: Route) -> str:
    return lines[int(there[2]) - 1] if 0 < int(there[2]) <= len(lines) else ""


def _alike(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each finding once, though a loop may have written it many times."""
    same: dict[tuple[str, Route, str], list[Diagnostic]] = {}
    for each in found:
        same.setdefault((each.code, each.route, each.message), []).append(each)
    more = {key: (Note(f"{len(all_) - 1} more like it"),) if len(all_) > 1 else () for key, all_ in same.items()}
    return [all_[0]._replace(notes=(*all_[0].notes, *more[key])) for key, all_ in same.items()]


def _second(source_map: SourceMap) -> Span:
    """Where the second document begins."""
    lines = BREAK.split(source_map.text)
    line = next((n for n, text in enumerate(lines, 1) if n > 1 and text.startswith("---")), len(lines))
    return source_map.back(Span(line, 1, line, 4))[0]


def _strange_keys(data: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The mappings that hold keys which are no texts, with the first of them."""
    if isinstance(data, dict):
        odd = [key for key in data if not isinstance(key, str)]
        if odd:
            yield path, odd[0]
        for key, value in data.items():
            yield from _strange_keys(value, (*path, str(key)))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _strange_keys(value, (*path, number))


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
