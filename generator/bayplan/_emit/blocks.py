"""Plain data -> YAML in block style: keys in their order, sequences at their parent's indentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan._emit.scalars import Keys, Scalars, block, number
from bayplan.model.manifest import Slot

_WORDS = {True: "true", False: "false", None: "null"}


class Blocks:
    """Writes documents as pieces at the end of a list, and remembers the strings it has met."""

    def __init__(self, pieces: list[str]) -> None:
        self.write, self.pieces = pieces.append, pieces
        self.scalars = Scalars()
        self.keys: list[Keys] = []

    def document(self, data: Any) -> None:
        """One document."""
        if isinstance(data, Mapping) and data:
            self.mapping(data, 0)
        elif _is_sequence(data) and data:
            self.sequence(data, 0)
        else:
            self.write(f"{self.leaf(data, 0)}\n")

    def text(self, data: Any) -> str:
        """One document by itself; there must be no pieces yet."""
        self.document(data)
        text = "".join(self.pieces)
        self.pieces.clear()
        return text

    def mapping(self, data: Mapping[str, Any], depth: int) -> None:
        """The pairs of a mapping that is not empty, indented by `depth` steps."""
        write, scalars = self.write, self.scalars
        while len(self.keys) <= depth:
            self.keys.append(Keys("  " * len(self.keys)))
        keys = self.keys[depth]
        for key, value in data.items():
            kind = type(value)
            if kind is str:
                write(f"{keys[key]} {scalars[value] or self.block(value, depth)}\n")
            elif kind is int:
                write(f"{keys[key]} {value}\n")
            elif kind is dict and value:
                write(keys[key] + "\n")
                self.mapping(value, depth + 1)
            elif kind is list and value:
                write(keys[key] + "\n")
                self.sequence(value, depth)
            else:
                self.other(keys[key], value, depth)

    def sequence(self, data: Sequence[Any], depth: int) -> None:
        """The items of a sequence that is not empty, their dashes indented by `depth` steps."""
        pad, pieces = "  " * depth, self.pieces
        for item in data:
            kind = type(item)
            if kind is str:
                self.write(f"{pad}- {self.scalars[item] or self.block(item, depth)}\n")
            elif kind is dict and item:
                first = len(pieces)
                self.mapping(item, depth + 1)
                pieces[first] = f"{pad}- {pieces[first][len(pad) + 2 :]}"
            else:
                self.item(item, depth)

    def item(self, item: Any, depth: int) -> None:
        """A rarer kind of item."""
        pad, first = "  " * depth, len(self.pieces)
        if isinstance(item, Mapping) and item:
            self.mapping(item, depth + 1)
        elif _is_sequence(item) and item:
            self.sequence(item, depth + 1)
        else:
            self.write(f"{pad}- {self.leaf(item, depth)}\n")
            return
        self.pieces[first] = f"{pad}- {self.pieces[first][len(pad) + 2 :]}"

    def other(self, key: str, value: Any, depth: int) -> None:
        """A rarer kind of value under a key."""
        if isinstance(value, Mapping) and value:
            self.write(key + "\n")
            self.mapping(value, depth + 1)
        elif _is_sequence(value) and value:
            self.write(key + "\n")
            self.sequence(value, depth)
        else:
            self.write(f"{key} {self.leaf(value, depth)}\n")

    def leaf(self, value: Any, depth: int) -> str:
        """A scalar or an empty collection. TypeError for what is no data."""
        if value is None or isinstance(value, bool):
            return _WORDS[value]
        if isinstance(value, str):
            return self.scalars[value] or self.block(value, depth)
        if isinstance(value, int | float):
            return number(value)
        if isinstance(value, Mapping) and not value:
            return "{}"
        if _is_sequence(value) and not value:
            return "[]"
        raise TypeError(f"not plain data: {value!r}")

    def block(self, text: str, depth: int) -> str:
        """A text of several lines, indented below its key or dash."""
        pad = "  " * (depth + 1)
        lines = text.removesuffix("\n").split("\n")
        return "\n".join([block(text) or "", *(pad + line if line else "" for line in lines)])


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple) and not isinstance(value, Slot)
