"""The data files of the package: in `bayplan/_data` if installed, or at the top of a checkout.

The static binary has them in its memory: `sys.frozen` reads them (packaging/archive.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PACKAGED = os.path.join(_PACKAGE, "_data")

_ARCHIVE: Any = getattr(sys, "frozen", None)

CHECKOUT = not _ARCHIVE and not os.path.isdir(_PACKAGED)
"""Whether bayplan runs in a checkout, in which its files may change."""

_ROOT = os.path.dirname(os.path.dirname(_PACKAGE)) if CHECKOUT else _PACKAGED


def data_path(*parts: str) -> str:
    """The path of a data file or folder, such as `data_path("schemas", "workflow.json")`. It need not exist."""
    return os.path.join(_ROOT, *parts)


def data_bytes(*parts: str) -> bytes:
    """The content of a data file."""
    return _content(data_path(*parts))


def data_text(*parts: str) -> str:
    """The text of a data file."""
    return data_bytes(*parts).decode()


@cache
def json_schema(name: str) -> Mapping[str, Any]:
    """A JSON Schema: `json_schema("workflow")`."""
    import json

    data: Mapping[str, Any] = json.loads(data_text("schemas", f"{name}.json"))
    return data


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The references that a part of a JSON Schema follows, and the part with the keys of their targets."""
    refs: tuple[str, ...] = ()
    while "$ref" in schema:
        ref = schema["$ref"]
        target = root
        for step in ref.removeprefix("#/").split("/"):
            target = target[step]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        refs = (*refs, ref)
    return refs, schema


def table(*parts: str) -> str:
    """The text of a table next to the module that reads it: `table("kube", "barrier.sh")`."""
    return _content(os.path.join(_PACKAGE, *parts)).decode()


def names_beside(*parts: str) -> list[str]:
    """The names in a folder of the package, sorted: `names_beside("plugins")`."""
    folder = os.path.join(_PACKAGE, *parts)
    return sorted(_ARCHIVE.listdir(folder) if _ARCHIVE else os.listdir(folder))


def data_names(*parts: str) -> list[str]:
    """The names in a data folder, sorted."""
    folder = data_path(*parts)
    return sorted(_ARCHIVE.listdir(folder) if _ARCHIVE else os.listdir(folder))


def _content(path: str) -> bytes:
    if _ARCHIVE:
        content: bytes = _ARCHIVE.get_data(path)
        return content
    with open(path, "rb") as file:
        return file.read()
