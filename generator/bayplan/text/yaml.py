"""YAML text -> events -> data.

The events come from libyaml, or from the parser of PyYAML if libyaml is missing. JSON with errors becomes events too.
One loop makes data of the events. This is the fastest way to read YAML in Python, and it sees duplicate keys.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from bayplan.core.diagnostics import Note
from bayplan.core.phrases import shorten
from bayplan.text import scalars
from bayplan.text.scalars import MERGE, Memo, Rules
from bayplan.text.source import RAISE, Errors, InvalidScalar, Mark, limits, too_many_values

MOST_EXPANDED = 100_000
"""The most nodes that all aliases of a document may expand to."""

_MOST_PURE = 2**20
_LONE_TAG = re.compile(r"(?:^|[\s,\[{:?-])!\s")
_HINTS = (
    ("mapping values are not allowed", 'check the indentation, or put a value that contains ": " in quotes'),
    ("expected key", "check the indentation of this line and of the lines above it"),
    ("expected '-' indicator", "check the indentation of this line and of the lines above it"),
    ("expected ':'", "write a colon and a space after the key, and check the indentation"),
    ("expected ',' or", "add the comma or the closing bracket"),
    ("unexpected end of stream", "close the quotes"),
    ("alphabetic or numeric", 'put a string that begins with "*", "&" or "!" in quotes'),
    ("unknown escape", "double the backslash, or use single quotes"),
    ("invalid Unicode character escape", "write the character itself"),
    ("<document start>", 'separate documents with a line "---"'),
    ("cannot start any token", "put a string that begins with this character in quotes"),
)
"""Part of a parser message -> hint."""

_JSON_TOKEN = r'(?s)[{}\[\]]|"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)|[^\s,:{}\[\]"]+'


def read(text: str, rules: Rules, errors: Errors, *notes: Note, dense: bool = False) -> list[Any]:
    """The data of every document, None for an empty one. StopReadingError: see the errors.

    `dense`: the text may have more values than the limit, so this function counts them first.
    """
    parse = pyyaml_events if rules.tagged else events
    try:
        if dense:
            _count(parse(text), errors)
        return list(documents(parse(text), rules, errors))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        if mark and "nesting depth" in str(getattr(problem, "problem", "")):
            text = text[: mark.index]  # libyaml looks ahead: in the text before its limit, the limit of bayplan counts
            return list(documents(parse(text), rules, errors))
        explain(problem, errors, *notes)


def read_json(text: str, own: bool, errors: Errors) -> list[Any]:
    """The same for well-formed JSON."""
    return list(documents(json_events(text), Rules(Memo(_json_token), Memo(str), own), errors))


# Events


def events(text: str, *, pure: bool = False) -> Iterator[Any]:
    """The events of the text. yaml.YAMLError: it is not valid YAML."""
    if pure or not yaml.__with_libyaml__:
        parser: Any = yaml.SafeLoader(text)
    else:
        from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]

        parser = CParser(text)
    stream = iter(parser.get_event, None)
    return _with_lone_tags(stream, text) if "!" in text and _LONE_TAG.search(text) else stream


def pyyaml_events(text: str) -> Iterator[Any]:
    """The events of the parser of PyYAML, which accepts some YAML that libyaml rejects, ignores a lone `!`, and
    rejects tabs between tokens.

    That parser is slow, so bayplan uses it only for text that libyaml does not read in the same way.
    """
    if not yaml.__with_libyaml__ or (len(text) <= _MOST_PURE and not _parses(text)):
        return iter(yaml.SafeLoader(text).get_event, None)
    from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]

    return iter(CParser(text).get_event, None)


def _parses(text: str) -> bool:
    """Whether libyaml accepts the text, and reads it as PyYAML does.

    They differ in tabs and byte order marks between tokens, and in tabs in plain scalars.
    """
    from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]

    parser, end = CParser(text), 1
    odd = "\t" in text or "\ufeff" in text[1:]
    try:
        while (event := parser.get_event()) is not None:
            if odd:
                start, stop = (getattr(mark, "index", 0) for mark in (event.start_mark, event.end_mark))
                plain = text[start:stop] if event.__class__ is ScalarEvent and not event.style else ""
                if "\t" in plain or re.search(r"[\t\ufeff]", re.sub(r"#.*", "", text[end:start])):
                    return False
                end = stop
    except yaml.YAMLError:
        return False
    return True


def _count(found: Iterator[Any], errors: Errors) -> None:
    """Stops if the text has more values than the limit. Documents and anchors count too, because each needs memory."""
    left = limits().values_in(len(errors.text))
    for event in found:
        if not isinstance(event, NodeEvent | DocumentStartEvent):
            continue
        left -= 1
        if left < 0:
            too_many_values(errors, event.start_mark)
        if isinstance(event, ScalarEvent | CollectionStartEvent) and event.anchor is not None:
            left -= 1


def _with_lone_tags(found: Iterator[Any], text: str) -> Iterator[Any]:
    """A lone `!` makes a string of a plain scalar. libyaml does not report it, so this function adds it."""
    for event in found:
        start: Any = event.start_mark
        if isinstance(event, ScalarEvent) and event.tag in (None, "!") and text.startswith("!", start.index):
            event.tag, event.implicit = None, (False, True)
        yield event


def explain(problem: yaml.YAMLError, errors: Errors, *notes: Note) -> NoReturn:
    """Adds the error of the parser, and stops reading."""
    met = (getattr(problem, name, None) for name in ("problem_mark", "context_mark"))
    mark: Any = next(filter(None, met), Mark(getattr(problem, "position", 0) or 0))
    message = re.sub(r"\s+", " ", getattr(problem, "problem", None) or "invalid text")
    if _at_tab(errors.text, mark.index) or "tab character" in message:
        errors.stop("R107", mark, "there is a tab where YAML allows only spaces", "indent with spaces", *notes)
    context = getattr(problem, "context", None)
    begun: Any = getattr(problem, "context_mark", None)
    if begun and context and begun.index != mark.index:
        what = re.sub("^while (parsing|scanning) an? ", "the ", context)
        notes = (Note(f"{what} begins here", errors.route(begun)), *notes)
    hint = next((hint for part, hint in _HINTS if part in message), "")
    errors.stop("R107", mark, f"invalid YAML: {message}", hint, *notes)


def _at_tab(text: str, index: int) -> bool:
    """Whether the parser stopped at a tab in the indentation."""
    indentation = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, index) + 1, index + 1)
    return text[index : index + 1] == "\t" or bool(indentation and "\t" in indentation[0])


def _json_token(token: str) -> Any:
    """A bare token of well-formed JSON: a number or a word, or an InvalidScalar."""
    words = {"true": True, "false": False, "null": None}
    if token in words:
        return words[token]
    number = float(token)
    if number - number != 0:
        return InvalidScalar(
            "R111", f"JSON cannot represent the number {shorten(token)}", "put it in quotes if it is a string"
        )
    return scalars.narrow(number) if re.search("[.eE]", token) or abs(number) >= 2**64 else int(token)


def _json_string(token: str) -> str:
    from json import loads

    try:
        text: str = loads(token)
    except ValueError:
        return token[1:-1]
    return text


def json_events(text: str) -> Iterator[Any]:
    """Well-formed JSON as YAML events, whose marks have only an index."""
    kinds: dict[str, Any] = {"[": SequenceStartEvent, "]": SequenceEndEvent, "{": MappingStartEvent}
    yield DocumentStartEvent()
    for token in re.finditer(_JSON_TOKEN, text):
        start: Any = Mark(token.start())
        end: Any = Mark(token.end())
        found = token[0]
        if found in "[{":
            yield kinds[found](None, None, True, start, end, flow_style=True)
        elif found in "]}":
            yield kinds.get(found, MappingEndEvent)(start, end)
        elif found[0] == '"':
            yield ScalarEvent(None, None, (False, True), _json_string(found), start, end, '"')
        else:
            yield ScalarEvent(None, None, (True, False), found, start, end)


# Data

_NO_KEY, _ITEM, _ROOT = object(), object(), object()  # states of the open collection
_NO_ANCHOR = object()
_BROUGHT = object()  # in the marks of a mapping: the keys of its `<<` so far
_CORE = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {"null": (type(None),), "bool": (bool,), "int": (int,), "float": (int, float)}


class Anchored(NamedTuple):
    """A mapping or a list with an anchor, and its number of nodes."""

    value: Any
    nodes: int


def documents(events: Iterator[Any], rules: Rules, errors: Errors) -> Iterator[Any]:
    """The data of every document, None for an empty one."""
    surrogates = "\\u" in errors.text or "\\U" in errors.text
    for event in events:
        if event.__class__ is DocumentStartEvent:
            yield _Builder(rules, errors, surrogates).read(events)


class _Builder:
    """Builds one document."""

    def __init__(self, rules: Rules, errors: Errors, surrogates: bool) -> None:
        self.rules, self.errors, self.surrogates = rules, errors, surrogates
        self.anchors: dict[str, Any] = {}  # a scalar, Anchored, or the start of what is still open
        self.expanded = 0

    def read(self, events: Iterator[Any]) -> Any:  # one function, because a call per node would double the time
        """Consumes the events of one document up to the end of its root node."""
        values, keys, surrogates = self.rules.values, self.rules.keys, self.surrogates
        node: Any = None  # the open collection
        key: Any = _ROOT  # where in it the next value goes
        marks: dict[Any, Any] = {}  # its keys so far
        stack: list[tuple[Any, Any, dict[Any, Any], Any, int]] = []
        nodes = 0
        for event in events:
            kind = event.__class__
            if kind is ScalarEvent:
                nodes += 1
                value = event.value
                if key is _NO_KEY:
                    key = keys[value] if event.implicit[0] else None
                    if key.__class__ is str and key not in marks and event.anchor is None:
                        marks[key] = event.start_mark.index
                    else:
                        key = self.key(event, keys, marks)
                    continue
                if event.implicit[0]:
                    value = values[value]
                    if value.__class__ is InvalidScalar:
                        self.errors.add(value.code, event.start_mark, value.message, value.hint)
                elif event.tag is not None:
                    value = self.tagged(event)
                elif surrogates:
                    self.check_text(event)
                if event.anchor is not None:
                    self.anchors[event.anchor] = value
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self.check_start(event, key is _NO_KEY, len(stack))
                mapping = kind is MappingStartEvent
                value = {} if mapping else []
                stack.append((node, key, marks, event, nodes))
                nodes += 1
                if key is _ITEM:
                    node.append(value)
                elif key is not _ROOT and key is not MERGE:
                    node[key] = value
                node, key, marks = value, _NO_KEY if mapping else _ITEM, {} if mapping else marks
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                value = node
                node, key, marks, start, before = stack.pop()
                if start.anchor is not None and self.anchors[start.anchor] is start:
                    self.anchors[start.anchor] = Anchored(value, nodes - before)
                if key is MERGE:
                    self.merge(node, value, marks, start)
                    key = _NO_KEY
                elif key is _ROOT:
                    return self.checked(value, start)
                elif key is not _ITEM:
                    key = _NO_KEY
                continue
            elif kind is AliasEvent:
                value, size = self.alias(event)
                nodes += size
                if key is _NO_KEY:
                    key = self.alias_key(value, event, marks)
                    continue
            else:
                continue
            if key is _ITEM:
                node.append(value)
            elif key is MERGE:
                self.merge(node, value, marks, event)
                key = _NO_KEY
            elif key is _ROOT:
                return value
            else:
                node[key] = value
                key = _NO_KEY
        return None

    def key(self, event: Any, keys: Memo, marks: dict[Any, Any]) -> Any:
        """A mapping's next key, noted in `marks`."""
        key = event.value
        if event.implicit[0]:
            key = keys[key]
            if key.__class__ is InvalidScalar:
                self.errors.add(key.code, event.start_mark, key.message, key.hint)
                key = event.value
        elif event.tag is not None:
            key = self.tagged(event)
        elif self.surrogates:
            self.check_text(event)
        key = self.note_key(key, event, marks)
        if event.anchor is not None:
            self.anchors[event.anchor] = key
        return key

    def note_key(self, key: Any, event: Any, marks: dict[Any, Any]) -> Any:
        """Checks that the key is a string and new in its mapping, and returns it."""
        if key is not MERGE and not isinstance(key, str) and not self.rules.tagged:
            self.errors.add("R112", event.start_mark, "a key must be a string", "put it in quotes")
            key = event.value if isinstance(event, ScalarEvent) else ""
        if key in marks:
            name = "<<" if key is MERGE else shorten(str(key))
            first = Note("the first one is here", self.errors.route(Mark(marks[key])))
            hint = "write <<: [*first, *second]" if key is MERGE else "remove or rename one of the two"
            message = f'duplicate key "{name}" in a mapping'
            if self.rules.tagged:
                self.errors.warn(self.rules.twice, event.start_mark, f"{message}; the last one wins", hint, first)
                marks[key] = event.start_mark.index
            else:
                self.errors.add(self.rules.twice, event.start_mark, message, hint, first)
        else:
            marks[key] = event.start_mark.index
        return key

    def alias_key(self, value: Any, event: Any, marks: dict[Any, Any]) -> Any:
        """A key that is an alias of a string."""
        if isinstance(value, dict | list):
            value = None
            if self.rules.tagged:
                self.errors.stop("R112", event.start_mark, "a key must be a string, not a mapping or a list")
        return self.note_key(value, event, marks)

    def tagged(self, event: Any) -> Any:
        """A scalar with a tag. bayplan knows only the tags of JSON types."""
        if self.rules.tagged:
            value = self.rules.tagged(event.tag, event.value)
            if isinstance(value, InvalidScalar):
                self.errors.add(value.code, event.start_mark, value.message, value.hint)
            return value
        name = event.tag.removeprefix(_CORE)
        if event.tag.startswith(_CORE) and name == "str":
            return event.value
        if event.tag.startswith(_CORE) and name in _TYPES:
            value = self.rules.values[event.value]
            if type(value) in _TYPES[name]:
                return value
            message = f'"{shorten(event.value)}" has the tag !!{name}, but is not of this type'
            self.errors.add("R111", event.start_mark, message, "remove the tag")
        else:
            self.unknown_tag(event)
        return event.value

    def unknown_tag(self, event: Any) -> None:
        """R111: a tag without a JSON type."""
        name = event.tag.replace(_CORE, "!!")
        self.errors.add(
            "R111", event.start_mark, f'bayplan does not support the tag "{shorten(name)}"', "remove the tag"
        )

    def check_text(self, event: Any) -> None:
        """R104: half of a surrogate pair is not a character, and UTF-8 cannot encode it."""
        if any("\ud800" <= c <= "\udfff" for c in event.value):
            hint = "write both halves of the pair, or the character itself"
            self.errors.add("R104", event.start_mark, "half of a surrogate pair is not a character", hint)

    def check_start(self, event: Any, as_key: bool, depth: int) -> None:
        """Checks that a collection may begin here."""
        if depth >= limits().depth:
            message = f"there are more than {limits().depth} nested mappings and lists"
            self.errors.stop("R103", event.start_mark, message, RAISE.format(key="depth"))
        if as_key:
            index = event.start_mark.index
            braces = "{{" in self.errors.text[max(index - 1, 0) : index + 2]
            hint = "put a value that begins with {{ in quotes" if braces else "write the key as a string"
            self.errors.stop("R112", event.start_mark, "a key must be a string, not a mapping or a list", hint)
        if event.tag is not None and event.tag not in (_CORE + "map", _CORE + "seq"):
            self.unknown_tag(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = event

    def alias(self, event: Any) -> Any:
        """The value of an alias."""
        anchored = self.anchors.get(event.anchor, _NO_ANCHOR)
        if isinstance(anchored, CollectionStartEvent):
            message = f'alias "*{shorten(event.anchor)}" contains itself'
            self.errors.stop("R116", event.start_mark, message, "remove the alias inside the value of its anchor")
        if anchored is _NO_ANCHOR:
            hint = f'define "&{shorten(event.anchor)}" above, or put a string that begins with "*" in quotes'
            self.errors.stop("R116", event.start_mark, f'alias "*{shorten(event.anchor)}" has no anchor', hint)
        if anchored.__class__ is not Anchored:
            anchored = Anchored(anchored, 1)
        self.expanded += anchored.nodes
        if self.expanded > MOST_EXPANDED:
            limit = f"the aliases expand to more than {MOST_EXPANDED:,} values"
            self.errors.stop("R103", event.start_mark, limit, "use fewer aliases")
        return anchored

    def merge(self, node: dict[str, Any], value: Any, marks: dict[Any, Any], event: Any) -> None:
        """`<<`. In kubectl, a merge wins over a key before it; in bayplan's own formats, that is an error."""
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self.errors.add("R116", event.start_mark, "<< takes a mapping or a list of mappings", "use <<: *anchor")
            return
        merged = {key: item for part in reversed(parts) for key, item in part.items()}
        if self.rules.tagged:
            own = {key: item for key, item in node.items() if key in marks}
            brought = marks.setdefault(_BROUGHT, {})
            brought |= merged
            node.clear()
            node |= {**brought, **own}
            return
        clash = next((key for key in merged if key in marks), None)
        if clash is not None and self.rules.own:
            message = f'<< comes after key "{shorten(clash)}" and also sets it: readers disagree on which of them wins'
            self.errors.add("R116", event.start_mark, message, "write << as the first key")
        node.update(merged)

    def checked(self, value: Any, start: Any) -> Any:
        """The whole document, which may be nested too deep because of its aliases."""
        if self.expanded and scalars.nests_deeper(value, limits().depth):
            message = f"with its aliases, the document has more than {limits().depth} nested mappings and lists"
            self.errors.stop("R103", start.start_mark, message, "use fewer aliases")
        return value


def libyaml() -> str:
    """`with libyaml 0.2.5`, for people; without it, PyYAML reads slowly."""
    return f"with libyaml {yaml._yaml.get_version_string()}" if yaml.__with_libyaml__ else "without libyaml"
