"""Reads YAML and JSON. It finds lines and columns only when a caller needs them.

It reads YAML as Kubernetes does. In bayplan's own formats, an ambiguous plain scalar is an error. It imports PyYAML
only for text that is not plain JSON.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from bayplan.core.diagnostics import AT, Note, Outcome, error, has_errors
from bayplan.text import scalars
from bayplan.text.source import (
    EncodingError,
    Errors,
    Lines,
    Mark,
    StopReadingError,
    check_characters,
    check_surrogates,
    decode,
    limits,
    may_have_more_values,
    template_start,
    too_many_values,
)


class Span(NamedTuple):
    """A range of characters. All numbers start at 1. The end is the place after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


Path = tuple[str | int, ...]


class SourceMap(NamedTuple):
    """The text that `load` read, if it is not the text of the file but, for example, a rendered template.

    `back` maps a place in it to the place in the file and a remark for the report, such as
    `"line 14 was written 16 times; this is the 3rd"`; the remark may be empty. `moved`: path in the data -> path in the
    text, of values with another path.
    """

    text: str
    back: Callable[[Span], tuple[Span, str]]
    moved: Mapping[Path, Path] = {}


class Document(NamedTuple):
    """One document of a file. `index` is its number in the text; empty documents count.

    `beside`: subject -> another file that the document names; it has text and no data.
    """

    name: str
    text: str
    index: int  # type: ignore[assignment]  # hides tuple.index
    data: Any
    source_map: SourceMap | None = None
    beside: Mapping[str, "Document"] = {}


def read(name: str, raw: bytes, subject: str, *, own: bool = True) -> Outcome[tuple[Document, ...]]:
    """The documents of a file, without empty ones. `own`: it has one of bayplan's own formats.

    Errors R103 to R116 with routes `(subject, AT, line, column)`. With errors, there is no value.
    """
    try:
        text = decode(raw)
    except EncodingError as problem:
        return _undecodable(problem, subject)
    errors = Errors(subject, text)
    trees: list[Any] = []
    try:
        check_characters(raw, errors, own)
        trees = _trees(name, raw, errors, own)
    except StopReadingError:
        pass
    if any(each.code in ("R107", "R112") for each in errors.found) and (start := template_start(text)) >= 0:
        errors.found.clear()
        hint = "render it first: `helm template CHART | bayplan lint -` for Helm, `bayplan check FILE` for OSMO"
        errors.found.append(error("R107", errors.route(Mark(start)), "this file is a template, not YAML", hint=hint))
    documents = tuple(Document(name, text, index, data) for index, data in enumerate(trees) if data is not None)
    if not documents and not errors.found:
        hint = "check that this is the right file"
        errors.found.append(error("R106", errors.route(Mark(0)), f'"{name}" has no document', hint=hint))
    return Outcome(None if errors.found else documents, tuple(errors.found))


def read_text(raw: bytes, subject: str) -> Outcome[str]:
    """The text of a file, with a line feed at the end of each line. Errors R103, R104."""
    try:
        text = decode(raw)
    except EncodingError as problem:
        return _undecodable(problem, subject)
    return Outcome(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text)


def _undecodable(problem: EncodingError, subject: str) -> Outcome[Any]:
    return Outcome(None, (error(problem.code, (subject, AT, *problem.place), problem.message, hint=problem.hint),))


def load(text: str, subject: str, twice: str) -> Outcome[list[Any]]:
    """The data of every document, as the safe loader of PyYAML reads it: YAML 1.1, and any scalar may be a key.

    A duplicate key is a warning with the code `twice`, and the last value wins. The errors are those of `read`.
    """
    from bayplan.text import yaml

    errors = Errors(subject, text)
    trees: list[Any] = []
    try:
        check_surrogates(errors)
        raw = text.encode()
        check_characters(raw, errors, own=False)
        trees = yaml.read(text, scalars.pyyaml_rules(twice), errors, dense=_is_dense(raw, text, json=False))
    except StopReadingError:
        pass
    diagnostics = tuple(errors.found)
    return Outcome(None if has_errors(diagnostics) else trees, diagnostics)


def _trees(name: str, raw: bytes, errors: Errors, own: bool) -> list[Any]:
    """The data of every document, read as JSON or as YAML."""
    text = errors.text
    notes: tuple[Note, ...] = ()
    if scalars.looks_like_json(text):
        if _is_dense(raw, text, json=True):
            place = scalars.json_value(text, limits().values_in(len(text)))
            if place >= 0:
                too_many_values(errors, Mark(place))
        try:
            return [scalars.load_json(text)]
        except scalars.InvalidDataError:
            from bayplan.text import yaml

            return yaml.read_json(text, own, errors)
        except ValueError as problem:
            notes = _not_json(name, problem, errors)
    rules = scalars.rules_for(own)
    dense = _is_dense(raw, text, json=False)
    from bayplan.text import yaml

    return yaml.read(text, rules, errors, *notes, dense=dense)


def _is_dense(raw: bytes, text: str, json: bool) -> bool:
    """Whether the text may have more values than the limit. Then bayplan counts them."""
    most = limits().values_in(len(text))
    if 2 * len(text) < most:
        return False
    return may_have_more_values(raw if len(raw) < 2 * len(text) else text.encode(), most, json)


def _not_json(name: str, problem: Any, errors: Errors) -> tuple[Note, ...]:
    """An error in a file with the suffix .json, or a note, because YAML in flow style begins like JSON."""
    place, reason = problem.pos, f"{problem.msg[0].lower()}{problem.msg[1:]}"
    before = problem.doc[:place].rstrip(" \t\r\n")
    if problem.doc[place : place + 1] in ("}", "]") and before.endswith(","):
        place = len(before) - 1
    if problem.doc[place + 1 :].lstrip(" \t\r\n")[:1] in ("}", "]") and problem.doc[place] == ",":
        reason = "a comma before a closing bracket"  # Python has other words and another place since 3.13
    mark, message = Mark(place), f"this is not JSON: {reason}"
    if name.lower().endswith(".json"):
        hint = "write keys and strings in double quotes, no comments, and no comma before a closing bracket"
        errors.stop("R107", mark, message, "keep one JSON value" if "Extra data" in problem.msg else hint)
    return (Note(message, errors.route(mark)),)


def events(text: str) -> Iterator[Any]:
    """The YAML events of text in JSON or YAML."""
    from bayplan.text import yaml

    if scalars.looks_like_json(text):
        with suppress(ValueError):
            scalars.check_form(text)
            return yaml.json_events(text)
    return yaml.events(text)


def spans_of(document: Document, paths: Iterable[Path]) -> dict[Path, tuple[Span, str]]:
    """The places of some paths of a document in its file, each with the remark of its source map."""
    wanted = set(paths)
    if document.source_map is None:
        spans = locate_all(document.text, [(document.index, path) for path in wanted])
        return {path: (spans[document.index, path], "") for path in wanted}
    text, back, moved = document.source_map
    spans = locate_all(text, [(0, moved.get(path, path)) for path in wanted], loaded=True)
    return {path: back(spans[0, moved.get(path, path)]) for path in wanted}


def locate(text: str, index: int, path: Path) -> Span:
    """The place of a path of document `index`. `locate_all` finds several."""
    return locate_all(text, ((index, path),))[index, path]


def locate_all(text: str, wanted: Iterable[tuple[int, Path]], *, loaded: bool = False) -> dict[tuple[int, Path], Span]:
    """The place of each (document, path), in one pass over the text. `loaded`: `load` read it.

    This is the value of a scalar or a collection in flow style, and the key of a collection in block style (in a list,
    its first key). For a path that ends in KEY it is the key, and for a missing path the key of the nearest ancestor.
    """
    from bayplan.text import yaml

    paths = set(wanted)
    found_events = yaml.pyyaml_events(text) if loaded else events(text)
    from bayplan.text import positions

    extents = positions.find(text, found_events, paths, loaded=loaded)
    lines = Lines(text)
    return {key: Span(*lines.at(start), *lines.at(stop)) for key in paths for start, stop in [extents.get(key, (0, 0))]}
