"""Reads YAML and JSON: data at once, lines and columns when somebody asks for them.

YAML is read as Kubernetes reads it. In our own formats a plain scalar that readers disagree on is an error. PyYAML is
imported only where a text is not plain JSON.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import AT, Note, Outcome, error, has_errors
from bayplan.core.values import NamedTuple
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
)

_LONG = 10_000
"""Characters from which on it pays to read by lines what can be read so."""


class Span(NamedTuple):
    """A piece of text; all from 1, the end is the place after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


Path = tuple[str | int, ...]


class SourceMap(NamedTuple):
    """The text that `load` read the data from, where that was made from the file's text: a template, rendered.

    `back` leads from a place in it to the place in the file, and says what the reader of a diagnostic should know
    besides (`"line 14 was written 16 times; this is the 3rd"`); empty when there is nothing to say. `moved`: path in
    the data -> path in the text, of values that stand elsewhere.
    """

    text: str
    back: Callable[[Span], tuple[Span, str]]
    moved: Mapping[Path, Path] = {}


class Document(NamedTuple):
    """One document of a text: `index` is its number in there, empty documents counted."""

    name: str
    text: str
    index: int  # type: ignore[assignment]  # rather the word than tuple.index
    data: Any
    source_map: SourceMap | None = None


def read(name: str, raw: bytes, subject: str, *, own: bool = True) -> Outcome[tuple[Document, ...]]:
    """The documents of a file that are not empty. `own`: it is in one of our formats.

    Errors R103 to R119 with routes `(subject, AT, line, column)`; with any of them the value is None.
    """
    try:
        text = decode(raw)
    except EncodingError as problem:
        return _undecodable(problem, subject)
    errors = Errors(subject, text)
    trees: list[Any] = []
    try:
        check_characters(raw, errors, own)
        trees = _trees(name, errors, own)
    except StopReadingError:
        pass
    documents = tuple(Document(name, text, index, data) for index, data in enumerate(trees) if data is not None)
    if not documents and not errors.found:
        errors.add("R106", Mark(0), f'"{name}" holds no document', "is it the right file?")
    return Outcome(None if errors.found else documents, tuple(errors.found))


def read_text(raw: bytes, subject: str) -> Outcome[str]:
    """The text of a file, each of its lines ended by a line feed. Errors R103, R104."""
    try:
        text = decode(raw)
    except EncodingError as problem:
        return _undecodable(problem, subject)
    return Outcome(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text)


def _undecodable(problem: EncodingError, subject: str) -> Outcome[Any]:
    return Outcome(None, (error(problem.code, (subject, AT, *problem.place), problem.message, hint=problem.hint),))


def load(text: str, subject: str, twice: str) -> Outcome[list[Any]]:
    """The data of every document as PyYAML's safe loader reads them: YAML 1.1, any scalar may be a key.

    A key given twice is a warning with the code `twice`, and the last one counts; errors as those of `read`.
    """
    from bayplan.text import yaml

    errors = Errors(subject, text)
    trees: list[Any] = []
    try:
        check_surrogates(errors)
        check_characters(text.encode(), errors, own=False)
        trees = yaml.read(text, yaml.pyyaml_rules(twice), errors)
    except StopReadingError:
        pass
    diagnostics = tuple(errors.found)
    return Outcome(None if has_errors(diagnostics) else trees, diagnostics)


def _trees(name: str, errors: Errors, own: bool) -> list[Any]:
    """The data of every document; JSON where it is JSON, else YAML."""
    text = errors.text
    notes: tuple[Note, ...] = ()
    if scalars.looks_like_json(text):
        try:
            return [scalars.load_json(text)]
        except scalars.InvalidDataError:
            from bayplan.text import yaml

            return yaml.read_json(text, own, errors)
        except ValueError as problem:
            notes = _not_json(name, problem, errors)
    from bayplan.text import yaml

    rules = yaml.rules_for(own)
    if len(text) >= _LONG:
        from bayplan.text import fast_yaml

        data = fast_yaml.documents(text, rules.values, rules.keys, lambda piece: yaml.read_flawless(piece, rules))
        if data is not None:
            return data
    return yaml.read(text, rules, errors, *notes)


def _not_json(name: str, problem: Any, errors: Errors) -> tuple[Note, ...]:
    """In a file that is called JSON an error, else a note: flow style YAML begins like JSON."""
    mark, message = Mark(problem.pos), f"this is not JSON: {problem.msg[0].lower()}{problem.msg[1:]}"
    if name.lower().endswith(".json"):
        errors.stop("R107", mark, message, "one JSON value makes one file; comments are not JSON")
    return (Note(message, errors.route(mark)),)


def events(text: str) -> Iterator[Any]:
    """The YAML events of a text that `read` takes, in whichever language it is."""
    from bayplan.text import yaml

    try:
        if scalars.looks_like_json(text):
            scalars.load_json(text)
            return yaml.json_events(text)
    except scalars.InvalidDataError:
        return yaml.json_events(text)
    except ValueError:
        pass
    return yaml.events(text)


def spans_of(document: Document, paths: Iterable[Path]) -> dict[Path, tuple[Span, str]]:
    """Where in its file a document has the values of some paths, each with what its source map remarks."""
    wanted = set(paths)
    if document.source_map is None:
        spans = locate_all(document.text, [(document.index, path) for path in wanted])
        return {path: (spans[document.index, path], "") for path in wanted}
    text, back, moved = document.source_map
    spans = locate_all(text, [(0, moved.get(path, path)) for path in wanted], loaded=True)
    return {path: back(spans[0, moved.get(path, path)]) for path in wanted}


def locate(text: str, index: int, path: Path) -> Span:
    """Where in a text document `index` has the value of a path; `locate_all` for several."""
    return locate_all(text, ((index, path),))[index, path]


def locate_all(text: str, wanted: Iterable[tuple[int, Path]], *, loaded: bool = False) -> dict[tuple[int, Path], Span]:
    """The place of each (document, path), in one pass over the text. `loaded`: it was read by `load`.

    That is the value for scalars and for collections in flow style, the key for collections in block style (in a
    list: their first key), the key too where a path ends in KEY, and the nearest ancestor's key where there is none.
    """
    from bayplan.text import yaml

    paths = set(wanted)
    found_events = yaml.pyyaml_events(text) if loaded else events(text)
    from bayplan.text import positions

    extents = positions.find(text, found_events, paths, loaded=loaded)
    lines = Lines(text)
    return {key: Span(*lines.at(start), *lines.at(stop)) for key in paths for start, stop in [extents.get(key, (0, 0))]}
