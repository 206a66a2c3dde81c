"""JSON text, read at once by the standard library. `yaml.json_events` is for what has errors, or a place to find.

`json` is imported where a text is JSON: most are YAML, and every start pays for an import.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from bayplan.text.scalars import narrow
from bayplan.text.source import DEEPEST

_ESCAPED_SURROGATE = r"\\u[dD][89a-fA-F]"


class InvalidDataError(Exception):
    """JSON as such, but with something in it that has to be reported."""


def begins(text: str) -> bool:
    """Whether a text looks like JSON; flow style YAML does, too."""
    return text[:4096].lstrip()[:1] in ("{", "[")


def load(text: str) -> Any:
    """The data. InvalidDataError: see `yaml.json_events`; json.JSONDecodeError: not JSON at all."""
    import json

    try:
        data = json.loads(
            text, object_pairs_hook=_mapping, parse_constant=_refuse, parse_float=_decimal, parse_int=_integer
        )
    except json.JSONDecodeError:
        raise
    except (InvalidDataError, ValueError, RecursionError) as problem:
        _well_formed(text)
        raise InvalidDataError from problem
    if nests_deeper(data, DEEPEST) or ("\\u" in text and re.search(_ESCAPED_SURROGATE, text)):
        raise InvalidDataError
    return data


def _well_formed(text: str) -> None:
    """json.JSONDecodeError if there is more wrong with it than values: its events would be no sense."""
    import json

    with suppress(RecursionError):
        json.loads(text, parse_constant=str, parse_float=str, parse_int=str)


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidDataError
    return found


def _refuse(text: str) -> Any:
    raise InvalidDataError(text)


def _integer(text: str) -> int:
    return int(text) if len(text) < 19 else _refuse(text)


def _decimal(text: str) -> int | float:
    value = float(text)
    return narrow(value) if value - value == 0 else _refuse(text)


def nests_deeper(data: Any, most: int) -> bool:
    """Whether collections nest deeper than that, found level by level and so without recursion."""
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(most):
        inner = [item.values() if type(item) is dict else item for item in level]
        level = [each for items in inner for each in items if type(each) is dict or type(each) is list]
        if not level:
            return False
    return bool(level)
