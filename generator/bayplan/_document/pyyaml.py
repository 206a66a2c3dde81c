"""Scalars as PyYAML's safe loader reads them (YAML 1.1), by that loader's own patterns and constructors.

`12:30` is 750, `on` is true, `0o17` is a text, `2024-01-01` a date; a key may be any scalar.
"""

from __future__ import annotations

from typing import Any

from yaml import SafeLoader, YAMLError
from yaml.constructor import SafeConstructor
from yaml.nodes import ScalarNode

from bayplan._document.faults import Fault
from bayplan._document.scalars import MERGE
from bayplan.words import shorten

_CORE = "tag:yaml.org,2002:"
_TEXT = f"{_CORE}str"
_MERGE = f"{_CORE}merge"
_SEVERAL = frozenset(f"{_CORE}{name}" for name in ("map", "seq", "set", "omap", "pairs"))

_MOST_DIGITS, _MOST_BITS = 4300, 14_284
"""Of an integer that Python writes in decimal."""


def value(text: str) -> Any:
    """What a plain scalar stands for, or why there is nothing."""
    tag = _tag(text)
    return text if tag == _TEXT else tagged(tag, text)


def key(text: str) -> Any:
    """A plain scalar as a key: `<<` and `=` mean something else there."""
    tag = _tag(text)
    if tag == _MERGE:
        return MERGE
    return text if tag in (_TEXT, f"{_CORE}value") else tagged(tag, text)


def spelled(text: str) -> Any:
    """The key as the text that Python writes it as: `on` is `True`."""
    found = key(text)
    return text if isinstance(found, Fault) else found if found is MERGE else str(found)


def tagged(tag: str, text: str) -> Any:
    """A scalar with that tag, or why it cannot be read so."""
    name = tag.removeprefix(_CORE)
    construct = None if tag in _SEVERAL else SafeConstructor.yaml_constructors.get(tag)
    if construct is None:
        shown = tag.replace(_CORE, "!!")
        return Fault("R113", f'tag "{shorten(shown)}" has no meaning here', "remove the tag, or quote the text")
    if name == "int" and len(text) > _MOST_DIGITS and ":" in text:  # sixties of that length take minutes
        return _too_large(text)
    try:
        value = construct(SafeConstructor(), ScalarNode(tag, text))
        return _too_large(text) if type(value) is int and value.bit_length() > _MOST_BITS else value
    except (ValueError, KeyError, AttributeError, OverflowError, YAMLError):
        what = {"timestamp": "a date", "int": "a number", "float": "a number"}.get(name, f"of type {name}")
        hint = "write it in quotes if it is a text"
        return Fault("R114", f'PyYAML takes "{shorten(text)}" for {what}, and cannot read it as one', hint)


def _too_large(text: str) -> Fault:
    return Fault("R114", f"{shorten(text)} is too large a number", "write it in quotes if it is a text")


def _tag(text: str) -> str:
    """The tag that a plain scalar has by its looks."""
    resolvers: Any = SafeLoader.yaml_implicit_resolvers
    for tag, pattern in (*resolvers.get(text[:1], ()), *resolvers.get(None, ())):
        if pattern.match(text):
            found: str = tag
            return found
    return _TEXT
