"""The text of one file: bytes -> characters, offsets -> lines and columns, and the errors of the text.

Bytes are UTF-8, or UTF-16 with a byte order mark (YAML 1.2, section 5.2).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from bayplan.core.diagnostics import AT, Diagnostic, Note, Route, error, warning

if TYPE_CHECKING:
    from re import Match
from typing import NamedTuple


class Limits(NamedTuple):
    """The most that bayplan reads of one file, and of all files of a run. `--limit` sets each.

    Together they bound the memory: the data of a file takes at most about ten times its bytes.
    """

    bytes: int = 256 * 2**20
    """The bytes of a file that bayplan reads as a whole."""
    streamed: int = 4 * 2**30
    """The bytes of a source of `topology import` that bayplan reads piece by piece."""
    values: int = 0
    """The keys and values of a file, with its documents and anchors. 0: `LEAST_VALUES` or, in a file with more than
    four million characters, one for each `DENSEST`."""
    depth: int = 100
    """The nested mappings and lists."""
    findings: int = 1000
    """The findings of a report for the files of one step, and the errors after which bayplan stops reading a file."""
    seconds: int = 5
    """The processor time of all templates of a run."""

    def values_in(self, characters: int) -> int:
        """The most values of a file with this number of characters."""
        return self.values or max(LEAST_VALUES, characters // DENSEST)


LEAST_VALUES = 500_000
"""The most values of a small file."""

DENSEST = 8
"""Characters for each value. Manifests of pods have more than ten; a long stream of tiny objects needs `--limit`."""

DEEPEST = 150
"""The highest limit of depth. Functions of bayplan call themselves for each level, and libyaml needs quadratic time."""

_limits = [Limits()]


def limits() -> Limits:
    """The limits of this process."""
    return _limits[-1]


@contextmanager
def limited(new: Limits) -> Iterator[None]:
    """Reads with other limits."""
    _limits.append(new)
    try:
        yield
    finally:
        _limits.pop()


_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n\r")
_UNPRINTABLE = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]"
_INVISIBLE = r"[\x85\u2028\u2029\ufeff]"
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", ""),  # UTF-32, which is an error, and begins like UTF-16
    (b"\0\0\xfe\xff", ""),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"", "utf-8"),
)
"""Byte order mark -> encoding; the first match decides."""


class StopReadingError(Exception):
    """bayplan cannot read the rest of the text. `Errors` has the reason."""


class EncodingError(Exception):
    """The bytes cannot be decoded."""

    def __init__(self, code: str, message: str, place: tuple[int, int] = (1, 1), hint: str = "") -> None:
        self.code, self.message, self.place, self.hint = code, message, place, hint


class InvalidScalar(NamedTuple):
    """An invalid scalar."""

    code: str
    message: str
    hint: str = ""


class Mark:
    """An offset in characters, the only part of the marks of YAML that bayplan uses."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Lines:
    """Turns offsets into lines and columns, both from 1. A line ends at LF, CR LF or CR, as editors count.

    It stores only the number of line ends before each block, because a file can have millions of lines.
    """

    _BLOCK = 2**14

    def __init__(self, text: str) -> None:
        self.text = text
        self._before: list[int] = []
        self._returns = False
        self._known: dict[int, str] = {}

    def at(self, index: int) -> tuple[int, int]:
        """Line and column of a character."""
        self._count()
        block = index // self._BLOCK
        line = self._before[block] + self._ends(block * self._BLOCK, index) + 1
        stop = index - (self.text[index - 1 : index + 1] == "\r\n")
        start = self.text.rfind("\n", 0, stop)
        if self._returns:
            start = max(start, self.text.rfind("\r", start + 1, stop))
        return line, index - start

    def line(self, number: int) -> str:
        """The text of a line without its end. Empty if there is no such line."""
        if number not in self._known:
            self._known[number] = self._line(number) if number > 0 else ""
        return self._known[number]

    def _line(self, number: int) -> str:
        self._count()
        block = max(bisect_left(self._before, number - 1) - 1, 0)
        place, left = block * self._BLOCK, number - 1 - self._before[block]
        while left:
            end = self._end(place)
            if end is None:
                return ""
            place, left = end.end(), left - 1
        end = self._end(place)
        return self.text[place : end.start()] if end else self.text[place:]

    def _end(self, place: int) -> Match[str] | None:
        """The next line end."""
        return re.compile(r"\r\n?|\n").search(self.text, place)

    def _count(self) -> None:
        """Counts the line ends before each block, once."""
        if self._before:
            return
        self._returns = "\r" in self.text
        self._before.append(0)
        for start in range(0, len(self.text), self._BLOCK):
            self._before.append(self._before[-1] + self._ends(start, start + self._BLOCK))

    def _ends(self, start: int, stop: int) -> int:
        """The line ends between two places."""
        ends = self.text.count("\n", start, stop)
        if not self._returns:
            return ends
        return ends + self.text.count("\r", start, stop) - self.text.count("\r\n", start, stop + 1)


class Errors:
    """Collects the errors of one text with the route `subject`. After the limit of findings it stops reading."""

    def __init__(self, subject: str, text: str) -> None:
        self.subject, self.text = subject, text
        self.found: list[Diagnostic] = []
        self._lines = Lines(text)

    def route(self, mark: Any) -> Route:
        """The route to a mark."""
        return (self.subject, AT, *self._lines.at(mark.index))

    def add(self, code: str, mark: Any, message: str, hint: str = "", *notes: Note) -> None:
        """Adds an error. Reading continues, unless there are too many errors."""
        most = limits().findings
        full = len(self.found) + 1 >= most
        last = (Note(f"reading stopped after {most} errors"),) if full else ()
        self.found.append(error(code, self.route(mark), message, hint=hint, notes=(*notes, *last)))
        if full:
            raise StopReadingError

    def warn(self, code: str, mark: Any, message: str, hint: str = "", *notes: Note) -> None:
        """Adds a warning. There are at most as many as errors."""
        if len(self.found) + 1 < limits().findings:
            self.found.append(warning(code, self.route(mark), message, hint=hint, notes=notes))

    def stop(self, code: str, mark: Any, message: str, hint: str = "", *notes: Note) -> NoReturn:
        """Adds an error, and stops reading."""
        self.add(code, mark, message, hint, *notes)
        raise StopReadingError


def decode(raw: bytes) -> str:
    """The text of a file. EncodingError: it cannot be decoded."""
    if len(raw) > limits().bytes:
        message = f"the file has {len(raw):,} bytes; the limit is {limits().bytes:,}"
        raise EncodingError("R103", message, hint=RAISE.format(key="bytes"))
    mark, encoding = _encoding(raw)
    if not encoding:
        raise EncodingError("R104", "the file is UTF-32, which YAML does not allow", hint="save it as UTF-8")
    try:
        return raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as problem:
        if b"\0" in raw and encoding == "utf-8":
            hint = "unpack it first" if raw.startswith(b"\x1f\x8b") else "check that this is the right file"
            raise EncodingError("R104", "the file is binary, not text", hint=hint) from problem
        before = problem.object[: problem.start].decode(encoding, "replace")
        broken = problem.object[problem.start : problem.end].hex(" ")
        message = f"the file is not {encoding.upper()}: {broken} is not a character"
        raise EncodingError("R104", message, Lines(before).at(len(before)), "save it as UTF-8") from problem


RAISE = "check that this is the right file; to raise the limit, set --limit {key}=N"
"""The hint for a limit."""


def text_of(raw: bytes) -> str:
    """The text of a file with invalid bytes replaced, to quote lines in reports."""
    mark, encoding = _encoding(raw)
    return raw[len(mark) :].decode(encoding or "utf-8", "replace")


def _encoding(raw: bytes) -> tuple[bytes, str]:
    return next(each for each in _BYTE_ORDER_MARKS if raw.startswith(each[0]))


def template_start(text: str) -> int:
    """The index of the first expression of a template outside of quotes, as Go and Jinja write it; -1 without one."""
    match = re.search(r"""^[^"'#\n]*?(\{\{-?\s*[\w.$/(])""", text, re.MULTILINE)
    return match.start(1) if match else -1


def may_have_more_values(raw: bytes, most: int, json: bool) -> bool:
    """Whether a file may have more keys and values. It is fast, because it only counts the characters before them."""
    marks = len(raw) - len(raw.translate(None, b",:[{" if json else b",:[{&?-\n\r"))
    if json or 2 * marks + 3 < most:
        return marks + 2 > most
    lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    signs = sum(map(raw.count, (b":", b"{", b"&", b"---", b"- ", b"-\t", b"? ", b"?\t")))
    flow = raw.count(b",") + raw.count(b"[")
    return lines + signs + flow + min(flow, raw.count(b":")) + 3 > most  # [a: 1] is a list of one mapping


def too_many_values(errors: Errors, mark: Any) -> NoReturn:
    """R157: the text has more values than the limit."""
    most = limits().values_in(len(errors.text))
    share = "" if limits().values else ", the limit for its size"
    message = f"the file has more than {most:,} keys and values{share}"
    errors.stop("R157", mark, message, RAISE.format(key="values"))


def check_surrogates(errors: Errors) -> None:
    """Stops at half of a surrogate pair. Only the string of a program has one, because no bytes encode it."""
    match = re.search("[\ud800-\udfff]", errors.text)
    if match:
        message = f"U+{ord(match[0]):04X} is half of a surrogate pair, not a character"
        errors.stop("R104", Mark(match.start()), message, "write both halves of the pair, or the character itself")


def check_characters(raw: bytes, errors: Errors, own: bool) -> None:
    """Stops at a character that YAML forbids; in bayplan's own formats also at one that readers disagree on."""
    text = errors.text
    if text.isascii() and len(raw.translate(None, _CONTROLS)) == len(raw):
        return
    character = re.search(_UNPRINTABLE, text) or (re.search(_INVISIBLE, text) if own else None)
    if not character:
        return
    mark, name = Mark(character.start()), f"U+{ord(character[0]):04X}"
    if character[0] == "\0":
        hint = "it is a binary file, or UTF-16 without a byte order mark: save it as UTF-8"
        errors.stop("R104", mark, "the file has a NUL byte", hint)
    if re.match(_INVISIBLE, character[0]):
        message = f"{name} is invisible, and YAML readers disagree on its meaning"
        errors.stop("R104", mark, message, f'remove it, or write "\\u{ord(character[0]):04x}" in double quotes')
    errors.stop("R104", mark, f"YAML does not allow the control character {name}", "remove it")
