"""JSON text: read at once by the standard library, or as events where an error or a place has to be found.

`json` is imported where a text is JSON: most are YAML, and every start pays for an import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bayplan._document.faults import Fault, Spot
from bayplan._document.scalars import narrow
from bayplan.words import shorten

_TOKEN = r'[{}\[\]]|"(?:[^"\\]++|\\.)*+"|[^\s,:{}\[\]"]++'
_ESCAPED_SURROGATE = r"\\u[dD][89a-fA-F]"


class UnfitError(Exception):
    """JSON as such, but with something in it that has to be reported."""


def begins(text: str) -> bool:
    """Whether a text looks like JSON; flow style YAML does, too."""
    return text[:4096].lstrip()[:1] in ("{", "[")


def load(text: str, deepest: int) -> Any:
    """The data. UnfitError: see `events`; json.JSONDecodeError: not JSON at all."""
    import json

    try:
        data = json.loads(
            text, object_pairs_hook=_mapping, parse_constant=_refuse, parse_float=_decimal, parse_int=_integer
        )
    except json.JSONDecodeError:
        raise
    except (UnfitError, ValueError, RecursionError) as problem:
        _well_formed(text)
        raise UnfitError from problem
    if deeper(data, deepest) or ("\\u" in text and re.search(_ESCAPED_SURROGATE, text)):
        raise UnfitError
    return data


def _well_formed(text: str) -> None:
    """json.JSONDecodeError if there is more wrong with it than values: its events would be no sense."""
    import json

    with suppress(RecursionError):
        json.loads(text, parse_constant=str, parse_float=str, parse_int=str)


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnfitError
    return found


def _refuse(text: str) -> Any:
    raise UnfitError(text)


def _integer(text: str) -> int:
    return int(text) if len(text) < 19 else _refuse(text)


def _decimal(text: str) -> int | float:
    value = float(text)
    return narrow(value) if value - value == 0 else _refuse(text)


def deeper(data: Any, most: int) -> bool:
    """Whether collections nest deeper than that, found level by level and so without recursion."""
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(most):
        inner = [item.values() if type(item) is dict else item for item in level]
        level = [each for items in inner for each in items if type(each) is dict or type(each) is list]
        if not level:
            return False
    return bool(level)


def value(token: str) -> Any:
    """A bare token of well-formed JSON: a number or one of its words, or why it is refused."""
    words = {"true": True, "false": False, "null": None}
    if token in words:
        return words[token]
    try:
        number = float(token)
    except ValueError:  # where brackets nest too deep for the standard library, nobody has looked so far
        return Fault("R109", f"this is not JSON: {shorten(token)}", "")
    if number - number != 0:
        return Fault("R114", f"{shorten(token)} is not a number that JSON can hold", "")
    return narrow(number) if re.search("[.eE]", token) or abs(number) >= 2**64 else int(token)


def _string(token: str) -> str:
    import json

    try:
        found: str = json.loads(token)
    except ValueError:
        return token[1:-1]
    return found


def events(text: str) -> Iterator[Any]:
    """Well-formed JSON as YAML events, whose marks know their index only."""
    from yaml import events as yaml

    kinds: dict[str, Any] = {"[": yaml.SequenceStartEvent, "]": yaml.SequenceEndEvent, "{": yaml.MappingStartEvent}
    yield yaml.DocumentStartEvent()
    for token in re.finditer(_TOKEN, text):
        start: Any = Spot(token.start())
        end: Any = Spot(token.end())
        found = token[0]
        if found in "[{":
            yield kinds[found](None, None, True, start, end, flow_style=True)
        elif found in "]}":
            yield kinds.get(found, yaml.MappingEndEvent)(start, end)
        elif found[0] == '"':
            yield yaml.ScalarEvent(None, None, (False, True), _string(found), start, end, '"')
        else:
            yield yaml.ScalarEvent(None, None, (True, False), found, start, end)
