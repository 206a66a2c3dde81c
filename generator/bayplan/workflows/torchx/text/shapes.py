"""Steps into data of any shape: what is not there, or is something else, is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: Any, *keys: str | int) -> Mapping[str, Any]:
    """The mapping at a path."""
    found = below(value, *keys)
    return found if isinstance(found, Mapping) else {}


def mappings(value: Any, *keys: str | int) -> list[Mapping[str, Any]]:
    """The mappings in the list at a path."""
    return [each for each in items(value, *keys) if isinstance(each, Mapping)]


def items(value: Any, *keys: str | int) -> list[Any]:
    """The list at a path."""
    found = below(value, *keys)
    return found if isinstance(found, list) else []


def text(value: Any, *keys: str | int) -> str:
    """The text at a path."""
    found = below(value, *keys)
    return found if isinstance(found, str) else ""


def below(value: Any, *keys: str | int) -> Any:
    """What stands at a path, or None."""
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def whole(value: Any) -> int:
    """A whole number, however it is written; 0 where it is none."""
    plain = str(value)
    return int(plain) if plain.isdecimal() and plain.isascii() and len(plain) < 10 else 0
