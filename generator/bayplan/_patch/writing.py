"""Values -> the text that stands for them at some place of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bayplan._emit.blocks import Blocks
from bayplan._emit.scalars import block, number, quoted, scalar

_PLAIN_IN_FLOW = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./=+-]*").fullmatch


class Writer:
    """Writes values into one document: with its line breaks, and as JSON where that is what it is."""

    def __init__(self, text: str, json: bool) -> None:
        self.json = json
        first = text.find("\n")
        self.newline = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"

    def lines(self, value: Any, pad: int) -> str:
        """A collection that is not empty, in block style, each line indented; without the last line break."""
        text = Blocks([]).text(value).removesuffix("\n")
        space = " " * pad
        return self.newline.join(space + line if line else line for line in text.split("\n"))

    def inline(self, value: Any, pad: int, *, single: bool, quote: str = "") -> str:
        """A scalar or an empty collection. `single`: it must stay on one line; `pad`: of the lines of a longer text."""
        if not isinstance(value, str):
            return _plain(value)
        if "\n" in value:
            header = None if single else block(value)
            if header is None:
                return quoted(value)
            body = (" " * pad + line if line else "" for line in value.removesuffix("\n").split("\n"))
            return self.newline.join([header, *body])
        if quote == '"' or (quote == "'" and ("'" in value or not value.isprintable())):
            return quoted(value)
        return f"'{value}'" if quote == "'" else scalar(value)

    def flow(self, value: Any) -> str:
        """Any value in flow style, on one line."""
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.flow_key(key)}: {self.flow(item)}' for key, item in value.items())}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.flow, value))}]"
        return self._text(value) if isinstance(value, str) else _plain(value)

    def flow_key(self, key: str) -> str:
        """A key in flow style."""
        return self._text(key)

    def _text(self, text: str) -> str:
        if self.json:
            import json

            return json.dumps(text, ensure_ascii=False)
        return text if _PLAIN_IN_FLOW(text) and scalar(text) == text else quoted(text)


def empty(value: Any) -> bool:
    """Whether it is a collection without anything in it."""
    return isinstance(value, Mapping | list | tuple) and not value


def is_sequence(value: Any) -> bool:
    """Whether it is a list, of whatever type."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _plain(value: Any) -> str:
    """What has no quotes, in JSON either."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    if empty(value):
        return "{}" if isinstance(value, Mapping) else "[]"
    return number(value)
