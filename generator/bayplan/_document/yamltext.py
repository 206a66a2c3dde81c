"""YAML text as events of libyaml (of PyYAML's own parser where that is missing), and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml
from yaml.events import ScalarEvent

from bayplan._document.faults import Faults, Spot
from bayplan.diagnostics import Note

_MOST_PURE = 2**20
_LONE_TAG = re.compile(r"(?:^|[\s,\[{:?-])!\s")
_HINTS = (
    ("mapping values are not allowed", 'check the indentation, or put a value that contains ": " in quotes'),
    ("expected key", "check the indentation of this line and of those above it"),
    ("expected '-' indicator", "check the indentation of this line and of those above it"),
    ("expected ':'", "a key needs a colon and a space after it; check also the indentation"),
    ("expected ',' or", "add the comma or the closing bracket"),
    ("unexpected end of stream", "close the quotes"),
    ("alphabetic or numeric", 'put a text that begins with "*", "&" or "!" in quotes'),
    ("unknown escape", "double the backslash, or use single quotes"),
    ("invalid Unicode character escape", "write the character itself"),
    ("<document start>", 'separate documents by a line "---"'),
    ("cannot start any token", "put a text that begins with this character in quotes"),
)
"""Part of a parser's message, and what to do."""


def events(text: str, *, pure: bool = False) -> Iterator[Any]:
    """The events of a text; raises yaml.YAMLError where it is broken."""
    if pure or not yaml.__with_libyaml__:
        parser: Any = yaml.SafeLoader(text)
    else:
        from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]

        parser = CParser(text)
    found = iter(parser.get_event, None)
    return _with_lone_tags(found, text) if "!" in text and _LONE_TAG.search(text) else found


def loaded(text: str) -> Iterator[Any]:
    """The same as PyYAML's own parser, which takes a few texts that libyaml refuses and has no trace of a lone `!`.

    That parser is slow, so it is asked where libyaml refuses.
    """
    if not yaml.__with_libyaml__ or (len(text) <= _MOST_PURE and not _parses(text)):
        return iter(yaml.SafeLoader(text).get_event, None)
    from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]

    return iter(CParser(text).get_event, None)


def _parses(text: str) -> bool:
    """Whether libyaml takes a text."""
    from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]

    parser = CParser(text)
    try:
        while parser.get_event() is not None:
            pass
    except yaml.YAMLError:
        return False
    return True


def _with_lone_tags(found: Iterator[Any], text: str) -> Iterator[Any]:
    """A lone `!` makes a text of a plain scalar; libyaml keeps no trace of it."""
    for event in found:
        start: Any = event.start_mark
        if isinstance(event, ScalarEvent) and event.tag in (None, "!") and text.startswith("!", start.index):
            event.tag, event.implicit = None, (False, True)
        yield event


def explain(problem: yaml.YAMLError, faults: Faults, *notes: Note) -> NoReturn:
    """Turns an error of the parser into a fault, and gives up."""
    met = (getattr(problem, name, None) for name in ("problem_mark", "context_mark"))
    mark: Any = next(filter(None, met), Spot(getattr(problem, "position", 0) or 0))
    message = re.sub(r"\s+", " ", getattr(problem, "problem", None) or "the text cannot be read")
    if _at_tab(faults.text, mark.index) or "tab character" in message:
        faults.stop("R108", mark, "a tab stands where YAML allows only spaces", "indent by spaces", *notes)
    context = getattr(problem, "context", None)
    begun: Any = getattr(problem, "context_mark", None)
    if begun and context and begun.index != mark.index:
        what = re.sub("^while (parsing|scanning) an? ", "the ", context)
        notes = (Note(f"{what} begins here", faults.route(begun)), *notes)
    hint = next((hint for part, hint in _HINTS if part in message), "")
    faults.stop("R107", mark, f"this is not YAML: {message}", hint, *notes)


def _at_tab(text: str, index: int) -> bool:
    """Whether a tab in the indentation is what the parser met."""
    indentation = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, index) + 1, index + 1)
    return text[index : index + 1] == "\t" or bool(indentation and "\t" in indentation[0])
