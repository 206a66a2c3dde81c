"""Plain data -> YAML text in block style, as a stream, with the same meaning for every reader.

No YAML library for Python writes text that kubectl, kustomize, YAML 1.1 and YAML 1.2 all read in the same way. Keys
keep their order. Sequences have the indentation of their parent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

from bayplan.text import File, Item, Many, Slot

_CHARACTERS = 1_000_000
_PIECES = 32_768  # some 30 characters each
_WORDS = {True: "true", False: "false", None: "null"}

_LONGEST_KEY = 1000
"""A longer key needs the explicit form, because YAML limits implicit keys to 1024 characters."""

_FORGET = 65_536
"""Memos are cleared at this size, so that any number of documents needs constant memory."""

_CH = r"A-Za-z0-9_/.\-+=@$%^~(),;*&<>!?|\\"
_safe = re.compile(rf"[A-Za-z_/.][{_CH}]*(?::[{_CH}]+)*(?: +[{_CH}\"']+(?::[{_CH}\"']+)*)*").fullmatch
_quantity = re.compile(r"[0-9][0-9.]*[A-DF-Za-df-z]+").fullmatch  # 480Gi, 10m, but no exponents
_RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", ".nan"))
_SHORT = dict(zip('\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029"\\', '0abtnvfreN_LP"\\', strict=True))

_BREAKS = {0x0A: None, 0x09: None}
"""Characters that a block scalar may contain besides printable ones."""

_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{ord(raw): "\\" + letter for raw, letter in _SHORT.items()},
    **{code: f"\\u{code:04x}" for code in (0xFEFF, 0xFFFE, 0xFFFF)},
}


def emit(items: Iterable[Item]) -> Iterator[str]:
    """The documents with `---` lines between them, in pieces of about a megabyte. Files are unchanged.

    Data may contain mappings with string keys, sequences, strings, numbers, booleans and None. TypeError: other types.
    ValueError: NaN, infinities, halves of surrogate pairs, and names in a `Many` that are not DNS-1123.
    """
    pieces: list[str] = []
    blocks = Blocks(pieces)
    between = ""
    for item in items:
        if isinstance(item, Many):
            yield from _take(pieces)
            for text in fill(template(item.skeleton, blocks.text), item.rows, _CHARACTERS):
                yield between + text
                between = "---\n"
            continue
        if isinstance(item, File):
            pieces.append(item.text)
            continue
        pieces.append(between)
        blocks.document(item)
        between = "---\n"
        if len(pieces) >= _PIECES:
            yield from _take(pieces)
    yield from _take(pieces)


def _take(pieces: list[str]) -> Iterator[str]:
    """The pieces so far, joined."""
    if pieces:
        yield "".join(pieces)
        pieces.clear()


# Scalars


def scalar(text: str) -> str:
    """The string without quotes if no reader misreads it, or in double quotes. ValueError: half a surrogate pair."""
    if _safe(text):
        if text.lower() not in _RESERVED and (text[0] != "." or text[1:2] == "/" or text[1:2].isalpha()):
            return text
    elif _quantity(text) and text[:2].lower() not in ("0x", "0o", "0b"):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """The string in double quotes."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ValueError(f"cannot write half of a surrogate pair: {text!a}")
    return '"' + text.translate(_ESCAPES) + '"'


def block_header(text: str) -> str | None:
    """The header of a block scalar for the string. None if the string needs quotes."""
    if "\n" not in text or text[0] in " \t\n" or text.endswith((" ", "\t", "\n\n")) or " \n" in text or "\t\n" in text:
        return None
    if not text.translate(_BREAKS).isprintable():
        return None
    return "|" if text[-1] == "\n" else "|-"


class Scalars(dict[str, str]):
    """A memo of values. "" means a block scalar."""

    def __missing__(self, text: str) -> str:
        if len(self) >= _FORGET:
            self.clear()
        self[text] = found = "" if block_header(text) else scalar(text)
        return found


class Keys(dict[str, str]):
    """A memo of keys at one indentation, with the colon."""

    def __init__(self, pad: str) -> None:
        self._pad = pad

    def __missing__(self, key: str) -> str:
        if len(self) >= _FORGET:
            self.clear()
        if not isinstance(key, str):
            raise TypeError(f"a key must be a string: {key!r}")
        text = scalar(key)
        self[key] = found = f"{self._pad}{text}:" if len(text) <= _LONGEST_KEY else f"{self._pad}? {text}\n{self._pad}:"
        return found


def numeral(value: Any) -> str:
    """An integer or a float. ValueError: JSON cannot represent it."""
    text = repr(value)
    if value - value != 0:
        raise ValueError(f"cannot write the number {text}")
    mantissa, exponent, power = text.partition("e")
    return text if not exponent or "." in mantissa else f"{mantissa}.0e{power}"


# Collections


class Blocks:
    """Appends documents as pieces to a list, and keeps a memo of their strings."""

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
        """One document by itself. The list of pieces must be empty."""
        self.document(data)
        text = "".join(self.pieces)
        self.pieces.clear()
        return text

    def mapping(self, data: Mapping[str, Any], depth: int) -> None:
        """The pairs of a mapping that is not empty, with `depth` steps of indentation."""
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
        """The items of a sequence that is not empty. Their dashes have `depth` steps of indentation."""
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
        """An item of a less common type."""
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
        """A value of a less common type."""
        if isinstance(value, Mapping) and value:
            self.write(key + "\n")
            self.mapping(value, depth + 1)
        elif _is_sequence(value) and value:
            self.write(key + "\n")
            self.sequence(value, depth)
        else:
            self.write(f"{key} {self.leaf(value, depth)}\n")

    def leaf(self, value: Any, depth: int) -> str:
        """A scalar or an empty collection. TypeError: it is not plain data."""
        if value is None or isinstance(value, bool):
            return _WORDS[value]
        if isinstance(value, str):
            return self.scalars[value] or self.block(value, depth)
        if isinstance(value, int | float):
            return numeral(value)
        if isinstance(value, Mapping) and not value:
            return "{}"
        if _is_sequence(value) and not value:
            return "[]"
        raise TypeError(f"not plain data: {value!r}")

    def block(self, text: str, depth: int) -> str:
        """A multi-line string, with indentation, below its key or dash."""
        pad = "  " * (depth + 1)
        lines = text.removesuffix("\n").split("\n")
        return "\n".join([block_header(text) or "", *(pad + line if line else "" for line in lines)])


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple) and not isinstance(value, Slot)


# Templates: a skeleton with slots -> a string with gaps, written once and filled with batches of rows

Column = Sequence[Any]
_NAMES = r"(?:[a-z0-9][a-z0-9.-]*\n)*"
_PLAIN_NAMES = r"(?:[a-z]+[0-9.-][a-z0-9.-]*\n)*"


class Gap(NamedTuple):
    """A place in the string: its conversion, and the function from the columns of a batch to its values."""

    conversion: str
    values: Callable[[Sequence[Column]], Iterable[Any]]


class Template(NamedTuple):
    """A format string for the % operator."""

    text: str
    gaps: tuple[Gap, ...]
    names: frozenset[int]  # columns that must contain names


def template(skeleton: Mapping[str, Any], write: Callable[[Any], str]) -> Template:
    """The output of `write` for the skeleton. Slots become tokens that occur only once in it."""
    import re

    for salt in count():
        cutter = _Cutter(salt)
        text = write(cutter.plain(skeleton))
        pieces = re.split(cutter.token("([0-9]+)"), text.replace("%", "%%"))
        if not cutter.clash and pieces[1::2] == [str(number) for number in range(len(cutter.gaps))]:
            pieces[1::2] = [gap.conversion for gap in cutter.gaps]
            return Template("".join(pieces), tuple(cutter.gaps), frozenset(cutter.names))
    raise AssertionError("there is always an unused token")


def fill(form: Template, rows: Iterable[tuple[Any, ...]], characters: int) -> Iterator[str]:
    """The documents with `---` lines between them, in pieces of this size. ValueError: a name is not DNS-1123."""
    source = iter(rows)
    while batch := list(islice(source, max(1, characters // (len(form.text) + 1)))):
        columns = list(zip(*batch, strict=True))
        for column in (columns[number] for number in form.names):
            text = "\n".join([*column, ""])
            if not re.fullmatch(_NAMES, text) or text.count("\n") != len(column):
                wrong = next(name for name in column if "\n" in name or not re.fullmatch(_NAMES, name + "\n"))
                raise ValueError(f"not a DNS-1123 name: {wrong!r}")
        values = zip(*(gap.values(columns) for gap in form.gaps), strict=True) if form.gaps else [()] * len(batch)
        yield "---\n".join(map(form.text.__mod__, values))


class _Cutter:
    """Turns a skeleton into plain data with tokens instead of slots."""

    def __init__(self, salt: int) -> None:
        self.salt = salt
        self.gaps: list[Gap] = []
        self.names: set[int] = set()
        self.clash = False  # a key is equal to the token of another key

    def token(self, number: str) -> str:
        """A plain scalar everywhere in YAML, and not part of another token."""
        return f"slot{self.salt}x{number}z"

    def gap(self, conversion: str, values: Callable[[Sequence[Column]], Iterable[Any]]) -> str:
        """The token of a new gap."""
        self.gaps.append(Gap(conversion, values))
        return self.token(str(len(self.gaps) - 1))

    def plain(self, value: Any) -> Any:
        """The value with tokens instead of slots."""
        if type(value) is str:
            return value
        if isinstance(value, Slot):
            return self.slot(value)
        if type(value) is dict or isinstance(value, Mapping):
            found = {
                key if type(key) is str else self.key(key): item if type(item) is str else self.plain(item)
                for key, item in value.items()
            }
            self.clash = self.clash or len(found) < len(value)
            return found
        if isinstance(value, tuple) and any(isinstance(part, Slot) for part in value):
            return self.joined(value)
        return [self.plain(item) for item in value] if isinstance(value, list | tuple) else value

    def key(self, key: Any) -> Any:
        """A key as a string, for any form of slot."""
        return self.joined((key,)) if isinstance(key, Slot) else self.plain(key)

    def slot(self, slot: Slot) -> str:
        """A slot that is a whole value."""
        if slot.form == "name":
            return self.joined((slot,))
        return self.gap("%d" if slot.form == "number" else '"%d"', lambda columns: columns[slot.column])

    def joined(self, parts: tuple[str | Slot, ...]) -> str:
        """Strings and slots that form one string. The skeleton has it if all rows have the same style."""
        parts = tuple(part for part in parts if part != "")
        self.names.update(part.column for part in parts if isinstance(part, Slot) and part.form == "name")
        if _is_settled("".join(part for part in parts if not isinstance(part, Slot)), isinstance(parts[0], Slot)):
            return "".join(part if isinstance(part, str) else self.settled(part) for part in parts)
        if len(parts) == 1 and isinstance(only := parts[0], Slot) and only.form == "name":
            return self.gap("%s", lambda columns: _names(columns[only.column]))
        return self.gap("%s", lambda columns: _join(parts, columns))

    def settled(self, slot: Slot) -> str:
        """A slot in a string with a known style."""
        return self.gap("%s" if slot.form == "name" else "%d", lambda columns: columns[slot.column])


def _is_settled(literal: str, begins_with_slot: bool) -> bool:
    """Whether the style of a string depends only on its literal parts, and not on the names and numbers between them.

    A plain scalar may have the characters of names and numbers everywhere except at its start. A string is not a word
    of YAML if it begins like a word and has a literal character that is not a letter.
    """
    if "\n" in literal:
        return True
    if begins_with_slot or not literal or literal[0] == "." or (literal[0].isascii() and literal[0].isdigit()):
        return False
    return not (literal.isascii() and literal.isalpha())


def _names(column: Column) -> Iterable[str]:
    """Names as scalars. One match checks whether all of them are plain."""
    return column if re.fullmatch(_PLAIN_NAMES, "\n".join([*column, ""])) else [scalar(name) for name in column]


def _join(parts: tuple[str | Slot, ...], columns: Sequence[Column]) -> list[str]:
    """The joined strings of a batch as scalars."""
    rows = range(len(columns[0]))
    return [scalar("".join(str(columns[p.column][row]) if isinstance(p, Slot) else p for p in parts)) for row in rows]
