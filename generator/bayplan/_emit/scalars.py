"""One string -> the YAML that every reader takes for that string: kubectl, kustomize, YAML 1.1 and YAML 1.2."""

from __future__ import annotations

import re
from typing import Any

LONGEST_KEY = 1000
"""A longer key needs the explicit form: YAML ends implicit keys at 1024 characters."""

_FORGET = 65_536
"""Memos are emptied at that size, so that any number of documents takes constant memory."""

_CH = r"A-Za-z0-9_/.\-+=@$%^~(),;*&<>!?|\\"
_safe = re.compile(rf"[A-Za-z_/.][{_CH}]*(?::[{_CH}]+)*(?: +[{_CH}\"']+(?::[{_CH}\"']+)*)*").fullmatch
_quantity = re.compile(r"[0-9][0-9.]*[A-DF-Za-df-z]+").fullmatch  # 480Gi, 10m, but nothing with an exponent
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", ".nan"))
_SHORT = dict(zip('\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029"\\', '0abtnvfreN_LP"\\', strict=True))

_BREAKS = {0x0A: None, 0x09: None}
"""What a block scalar holds besides characters that can be seen."""

_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{ord(raw): "\\" + letter for raw, letter in _SHORT.items()},
    **{code: f"\\u{code:04x}" for code in (0xFEFF, 0xFFFE, 0xFFFF)},
}


def scalar(text: str) -> str:
    """The text as it is where nobody can misread it, else in double quotes. ValueError for half a surrogate pair."""
    if _safe(text):
        if text.lower() not in _WORDS and (text[0] != "." or text[1:2] == "/" or text[1:2].isalpha()):
            return text
    elif _quantity(text) and text[:2].lower() not in ("0x", "0o", "0b"):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """The text in double quotes."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ValueError(f"half of a surrogate pair cannot be written: {text!a}")
    return '"' + text.translate(_ESCAPES) + '"'


def block(text: str) -> str | None:
    """The header of a block scalar that holds the text, or None where only quotes can hold it."""
    if "\n" not in text or text[0] in " \t\n" or text.endswith((" ", "\t", "\n\n")) or " \n" in text or "\t\n" in text:
        return None
    if not text.translate(_BREAKS).isprintable():
        return None
    return "|" if text[-1] == "\n" else "|-"


class Scalars(dict[str, str]):
    """A memo of values; "" stands for a block scalar."""

    def __missing__(self, text: str) -> str:
        if len(self) >= _FORGET:
            self.clear()
        self[text] = found = "" if block(text) else scalar(text)
        return found


class Keys(dict[str, str]):
    """A memo of keys at one indentation, up to and with the colon."""

    def __init__(self, pad: str) -> None:
        self._pad = pad

    def __missing__(self, key: str) -> str:
        if len(self) >= _FORGET:
            self.clear()
        if not isinstance(key, str):
            raise TypeError(f"a key must be a string: {key!r}")
        text = scalar(key)
        self[key] = found = f"{self._pad}{text}:" if len(text) <= LONGEST_KEY else f"{self._pad}? {text}\n{self._pad}:"
        return found


def number(value: Any) -> str:
    """An integer or a float. ValueError for what JSON cannot hold."""
    text = repr(value)
    if value - value != 0:
        raise ValueError(f"{text} is not a number that can be written")
    mantissa, exponent, power = text.partition("e")
    return text if not exponent or "." in mantissa else f"{mantissa}.0e{power}"
