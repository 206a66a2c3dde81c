"""The only reader of YAML and JSON: data at once, lines and columns when somebody asks for them.

YAML is read as Kubernetes reads it. In our own formats a plain scalar that readers disagree on is an error. PyYAML is
imported only where a text is not plain JSON.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bayplan._document import jsontext, libyaml
from bayplan._document.encodings import (
    LARGEST,
    UnfitTextError,
    check_characters,
    check_surrogates,
    decode,
    lenient,
)
from bayplan._document.faults import Faults, GiveUpError, Lines, Spot
from bayplan._document.scalars import Memo, foreign_key, foreign_value, own_key, own_value
from bayplan.diagnostics import AT, Diagnostic, Note, Outcome, error, has_errors
from bayplan.values import NamedTuple

if TYPE_CHECKING:
    from bayplan._document.loader import Rules
    from bayplan._document.outline import Node

__all__ = [
    "LARGEST",
    "Document",
    "Lens",
    "Span",
    "load",
    "locate",
    "locate_all",
    "outline",
    "places",
    "read",
    "text_of",
    "unfold",
]

_DEEPEST = 100
_LONG = 10_000
"""Characters from which on it pays to read without a parser what can be read so."""

text_of = lenient
"""The text of a file as far as it is one, to quote lines from what could not be read."""


class Span(NamedTuple):
    """A piece of text; all from 1, the end is the place after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


Path = tuple[str | int, ...]


class Lens(NamedTuple):
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
    lens: Lens | None = None


def read(name: str, raw: bytes, subject: str, *, own: bool = True) -> Outcome[tuple[Document, ...]]:
    """The documents of a file that are not empty. `own`: it is in one of our formats.

    Errors R103 to R119 with routes `(subject, AT, line, column)`; with any of them the value is None.
    """
    try:
        text = decode(raw)
    except UnfitTextError as unfit:
        return Outcome(None, (error(unfit.code, (subject, AT, *unfit.place), unfit.message, hint=unfit.hint),))
    faults = Faults(subject, text)
    try:
        check_characters(raw, faults, own)
        trees = _trees(name, text, faults, own)
    except GiveUpError:
        trees = []
    found = tuple(Document(name, text, index, data) for index, data in enumerate(trees) if data is not None)
    if not found and not faults.found:
        faults.found.append(_empty(name, subject))
    return Outcome(None if faults.found else found, tuple(faults.found))


def unfold(raw: bytes, subject: str) -> Outcome[str]:
    """The text of a file, each of its lines ended by a line feed. Errors R103, R104."""
    try:
        text = decode(raw)
    except UnfitTextError as unfit:
        return Outcome(None, (error(unfit.code, (subject, AT, *unfit.place), unfit.message, hint=unfit.hint),))
    return Outcome(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text)


def load(text: str, subject: str, twice: str) -> Outcome[list[Any]]:
    """The data of every document as PyYAML's safe loader reads them: YAML 1.1, any scalar may be a key.

    A key given twice is a warning with the code `twice`, and the last one counts; errors as those of `read`.
    """
    yaml = libyaml.load()
    from bayplan._document import loader, pyyaml, yamltext

    faults = Faults(subject, text)
    trees: list[Any] = []
    try:
        check_surrogates(faults)
        check_characters(text.encode(), faults, own=False)
        rules = loader.Rules(Memo(pyyaml.value), Memo(pyyaml.key), False, pyyaml.tagged, twice)
        trees = list(loader.documents(yamltext.loaded(text), rules, faults))
    except yaml.YAMLError as problem:
        with suppress(GiveUpError):
            yamltext.explain(problem, faults)
    except GiveUpError:
        pass
    found = tuple(faults.found)
    return Outcome(None if has_errors(found) else trees, found)


def _empty(name: str, subject: str) -> Diagnostic:
    return error("R106", (subject, AT, 1, 1), f'"{name}" holds no document', hint="is it the right file?")


def _trees(name: str, text: str, faults: Faults, own: bool) -> list[Any]:
    """The data of every document; JSON where it is JSON, else YAML."""
    notes: tuple[Note, ...] = ()
    if jsontext.begins(text):
        try:
            return [jsontext.load(text, _DEEPEST)]
        except jsontext.UnfitError:
            libyaml.load()
            from bayplan._document import loader

            return list(loader.documents(jsontext.events(text), _json_rules(own), faults))
        except ValueError as problem:
            notes = _not_json(name, problem, faults)
    return _yaml_trees(text, faults, own, notes)


def _not_json(name: str, problem: Any, faults: Faults) -> tuple[Note, ...]:
    """In a file that is called JSON an error, else a note: flow style YAML begins like JSON."""
    message = f"this is not JSON: {problem.msg[0].lower()}{problem.msg[1:]}"
    if name.lower().endswith(".json"):
        faults.stop("R109", Spot(problem.pos), message, "one JSON value makes one file; comments are not JSON")
    return (Note(message, faults.route(Spot(problem.pos))),)


def _yaml_trees(text: str, faults: Faults, own: bool, notes: tuple[Note, ...]) -> list[Any]:
    yaml = libyaml.load()
    from bayplan._document import loader, yamltext

    rules = _rules(own)
    if len(text) >= _LONG:
        from bayplan._document import plain

        found = plain.documents(text, rules.values, rules.keys, lambda piece: _sound(piece, rules))
        if found is not None:
            return found
    try:
        return list(loader.documents(yamltext.events(text), rules, faults))
    except yaml.YAMLError as problem:
        yamltext.explain(problem, faults, *notes)


def _rules(own: bool) -> "Rules":
    """How scalars are read in our formats, and in others."""
    from bayplan._document.loader import Rules

    values, keys = (own_value, own_key) if own else (foreign_value, foreign_key)
    return Rules(Memo(values), Memo(keys), own)


def _sound(text: str, rules: "Rules") -> list[Any]:
    """The data of a piece of YAML; ValueError where there is anything to say about it."""
    yaml = libyaml.load()
    from bayplan._document import loader, yamltext

    faults = Faults("", text)
    try:
        found = list(loader.documents(yamltext.events(text), rules, faults))
    except (yaml.YAMLError, GiveUpError) as problem:
        raise ValueError from problem
    if faults.found:
        raise ValueError
    return found


def _json_rules(own: bool) -> "Rules":
    from bayplan._document.loader import Rules

    return Rules(Memo(jsontext.value), Memo(str), own)


def places(document: Document, paths: Iterable[Path]) -> dict[Path, tuple[Span, str]]:
    """Where in its file a document has the values of some paths, each with what its lens remarks."""
    asked = set(paths)
    if document.lens is None:
        found = locate_all(document.text, [(document.index, path) for path in asked])
        return {path: (found[document.index, path], "") for path in asked}
    text, back, moved = document.lens
    found = locate_all(text, [(0, moved.get(path, path)) for path in asked], loaded=True)
    return {path: back(found[0, moved.get(path, path)]) for path in asked}


def locate(text: str, index: int, path: Path) -> Span:
    """Where in a text document `index` has the value of a path; `locate_all` for several."""
    return locate_all(text, ((index, path),))[index, path]


def locate_all(text: str, wanted: Iterable[tuple[int, Path]], *, loaded: bool = False) -> dict[tuple[int, Path], Span]:
    """The place of each (document, path), in one pass over the text. `loaded`: it was read by `load`.

    That is the value for scalars and for collections in flow style, the key for collections in block style (in a
    list: their first key), the key too where a path ends in KEY, and the nearest ancestor's key where there is none.
    """
    libyaml.load()
    from bayplan._document import places

    asked = set(wanted)
    events = _loaded(text) if loaded else _events(text)
    found = places.find(events, asked, plain="&" not in text and "<<" not in text, loaded=loaded)
    lines = Lines(text)
    return {key: Span(*lines.at(start), *lines.at(end)) for key in asked for start, end in [found.get(key, (0, 0))]}


def outline(text: str) -> "Node | None":
    """The extents of all values of a text's one document, which `read` must take."""
    libyaml.load()
    from bayplan._document import outline

    return outline.outline(_events(text), text)


def _loaded(text: str) -> Iterator[Any]:
    """The events that `load` reads."""
    from bayplan._document import yamltext

    return yamltext.loaded(text)


def _events(text: str) -> Iterator[Any]:
    """The events of a text in whichever language it is."""
    libyaml.load()
    from bayplan._document import yamltext

    try:
        if jsontext.begins(text):
            jsontext.load(text, _DEEPEST)
            return jsontext.events(text)
    except jsontext.UnfitError:
        return jsontext.events(text)
    except ValueError:
        pass
    return yamltext.events(text)
