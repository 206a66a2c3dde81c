"""Bytes -> characters: UTF-8, or UTF-16 that says so by a byte order mark, as YAML 1.2 section 5.2 has it."""

from __future__ import annotations

import re

from bayplan._document.faults import Faults, Lines, Spot

LARGEST = 256 * 2**20
"""Bytes of a text that is read at all."""

_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\r")
_UNPRINTABLE = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]"
_UNSEEN = r"[\x85\u2028\u2029\ufeff]"
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", ""),  # UTF-32, which must be told from UTF-16 and is refused
    (b"\0\0\xfe\xff", ""),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"", "utf-8"),
)
"""Byte order marks; the first that fits decides."""


class UnfitTextError(Exception):
    """Bytes that are not a text."""

    def __init__(self, code: str, message: str, place: tuple[int, int] = (1, 1), hint: str = "") -> None:
        self.code, self.message, self.place, self.hint = code, message, place, hint


def decode(raw: bytes) -> str:
    """The text of a file; UnfitTextError says why there is none."""
    if len(raw) > LARGEST:
        raise UnfitTextError("R103", f"the file has {len(raw):,} bytes, {LARGEST:,} is the most that is read")
    mark, encoding = _encoding(raw)
    if not encoding:
        raise UnfitTextError("R104", "the file is UTF-32, which YAML readers do not read", hint="save it as UTF-8")
    try:
        return raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as problem:
        before = problem.object[: problem.start].decode(encoding, "replace")
        found = problem.object[problem.start : problem.end].hex(" ")
        message = f"the file is not {encoding.upper()}: {found} is no character"
        raise UnfitTextError("R104", message, Lines(before).at(len(before)), "save it as UTF-8") from problem


def lenient(raw: bytes) -> str:
    """The text of a file as far as it is one, to quote lines from."""
    mark, encoding = _encoding(raw)
    return raw[len(mark) :].decode(encoding or "utf-8", "replace")


def _encoding(raw: bytes) -> tuple[bytes, str]:
    return next(each for each in _MARKS if raw.startswith(each[0]))


def check_surrogates(faults: Faults) -> None:
    """Stops at half of a surrogate pair, which no bytes stand for: only a text that a program made can hold it."""
    found = re.search("[\ud800-\udfff]", faults.text)
    if found:
        message = f"U+{ord(found[0]):04X} is half of a surrogate pair, which is not a character"
        faults.stop("R117", Spot(found.start()), message, "write both halves of the pair, or the character itself")


def check_characters(raw: bytes, faults: Faults, own: bool) -> None:
    """Stops at a character that a text may not hold; in own formats also at those that readers disagree on."""
    text = faults.text
    if text.isascii() and len(raw.translate(None, _CONTROLS)) == len(raw):
        return
    found = re.search(_UNPRINTABLE, text) or (re.search(_UNSEEN, text) if own else None)
    if not found:
        return
    spot, name = Spot(found.start()), f"U+{ord(found[0]):04X}"
    if found[0] == "\0":
        hint = "this is a binary file, or UTF-16 without a byte order mark: save it as UTF-8"
        faults.stop("R105", spot, "the file holds a NUL byte", hint)
    if re.match(_UNSEEN, found[0]):
        message = f"{name} cannot be seen, and readers of YAML disagree on what it is"
        faults.stop("R105", spot, message, f'remove it, or write "\\u{ord(found[0]):04x}" in double quotes')
    faults.stop("R105", spot, f"control character {name} may not stand in a text", "remove it")
