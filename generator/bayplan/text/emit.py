"""Plain data -> YAML text: block style, streamed, and the same to every reader.

No YAML library for Python writes what kubectl, kustomize, YAML 1.1 and YAML 1.2 all read back the same: hence this one.
Keys keep their order; sequences stand at their parent's indentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.text import File, Item, Many, Slot

_CHARACTERS = 1_000_000
_PIECES = 32_768  # some 30 characters each
_WORDS = {True: "true", False: "false", None: "null"}

_LONGEST_KEY = 1000
"""A longer key needs the explicit form: YAML ends implicit keys at 1024 characters."""

_FORGET = 65_536
"""Memos are emptied at that size, so that any number of documents takes constant memory."""

_CH = r"A-Za-z0-9_/.\-+=@$%^~(),;*&<>!?|\\"
_safe = re.compile(rf"[A-Za-z_/.][{_CH}]*(?::[{_CH}]+)*(?: +[{_CH}\"']+(?::[{_CH}\"']+)*)*").fullmatch
_quantity = re.compile(r"[0-9][0-9.]*[A-DF-Za-df-z]+").fullmatch  # 480Gi, 10m, but nothing with an exponent
_RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", ".nan"))
_SHORT = dict(zip('\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029"\\', '0abtnvfreN_LP"\\', strict=True))

_BREAKS = {0x0A: None, 0x09: None}
"""What a block scalar holds besides characters that can be seen."""

_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{ord(raw): "\\" + letter for raw, letter in _SHORT.items()},
    **{code: f"\\u{code:04x}" for code in (0xFEFF, 0xFFFE, 0xFFFF)},
}


def emit(items: Iterable[Item]) -> Iterator[str]:
    """The documents with `---` lines between them, in pieces of about a megabyte; files as they are.

    Data may hold mappings with string keys, sequences, strings, numbers, booleans and None. TypeError for anything
    else; ValueError for NaN, infinities, halves of surrogate pairs, and names in a `Many` that are not DNS-1123.
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
    """What there is, as one text."""
    if pieces:
        yield "".join(pieces)
        pieces.clear()


# Scalars


def scalar(text: str) -> str:
    """The text as it is where nobody can misread it, else in double quotes. ValueError for half a surrogate pair."""
    if _safe(text):
        if text.lower() not in _RESERVED and (text[0] != "." or text[1:2] == "/" or text[1:2].isalpha()):
            return text
    elif _quantity(text) and text[:2].lower() not in ("0x", "0o", "0b"):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """The text in double quotes."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ValueError(f"half of a surrogate pair cannot be written: {text!a}")
    return '"' + text.translate(_ESCAPES) + '"'


def block_header(text: str) -> str | None:
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
        self[text] = found = "" if block_header(text) else scalar(text)
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
        self[key] = found = f"{self._pad}{text}:" if len(text) <= _LONGEST_KEY else f"{self._pad}? {text}\n{self._pad}:"
        return found


def numeral(value: Any) -> str:
    """An integer or a float. ValueError for what JSON cannot hold."""
    text = repr(value)
    if value - value != 0:
        raise ValueError(f"{text} is not a number that can be written")
    mantissa, exponent, power = text.partition("e")
    return text if not exponent or "." in mantissa else f"{mantissa}.0e{power}"


# Collections


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
            return numeral(value)
        if isinstance(value, Mapping) and not value:
            return "{}"
        if _is_sequence(value) and not value:
            return "[]"
        raise TypeError(f"not plain data: {value!r}")

    def block(self, text: str, depth: int) -> str:
        """A text of several lines, indented below its key or dash."""
        pad = "  " * (depth + 1)
        lines = text.removesuffix("\n").split("\n")
        return "\n".join([block_header(text) or "", *(pad + line if line else "" for line in lines)])


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple) and not isinstance(value, Slot)


# Templates: a skeleton with slots -> a text with gaps, written once and filled a batch of rows at a time

Column = Sequence[Any]
_NAMES = r"(?:[a-z0-9][a-z0-9.-]*\n)*"
_PLAIN_NAMES = r"(?:[a-z]+[0-9.-][a-z0-9.-]*\n)*"


class Gap(NamedTuple):
    """A place in the text: its conversion, and how to make the values of a batch from the columns of its rows."""

    conversion: str
    values: Callable[[Sequence[Column]], Iterable[Any]]


class Template(NamedTuple):
    """A text for the % operator."""

    text: str
    gaps: tuple[Gap, ...]
    names: frozenset[int]  # columns that must hold names


def template(skeleton: Mapping[str, Any], write: Callable[[Any], str]) -> Template:
    """The text that `write` makes of the skeleton. Slots are written as tokens that occur nowhere else in it."""
    for salt in count():
        cutter = _Cutter(salt)
        text = write(cutter.plain(skeleton))
        pieces = re.split(cutter.token("([0-9]+)"), text.replace("%", "%%"))
        if not cutter.clash and pieces[1::2] == [str(number) for number in range(len(cutter.gaps))]:
            pieces[1::2] = [gap.conversion for gap in cutter.gaps]
            return Template("".join(pieces), tuple(cutter.gaps), frozenset(cutter.names))
    raise AssertionError("a text cannot hold every token")


def fill(form: Template, rows: Iterable[tuple[Any, ...]], characters: int) -> Iterator[str]:
    """The documents with `---` lines between, in pieces of about so many characters. ValueError: no DNS-1123 name."""
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
    """Turns a skeleton into plain data with tokens for what is filled in."""

    def __init__(self, salt: int) -> None:
        self.salt = salt
        self.gaps: list[Gap] = []
        self.names: set[int] = set()
        self.clash = False  # a key is what another key's token is

    def token(self, number: str) -> str:
        """Plain in YAML wherever it stands, and no part of another token."""
        return f"slot{self.salt}x{number}z"

    def gap(self, conversion: str, values: Callable[[Sequence[Column]], Iterable[Any]]) -> str:
        """The token of a new gap."""
        self.gaps.append(Gap(conversion, values))
        return self.token(str(len(self.gaps) - 1))

    def plain(self, value: Any) -> Any:
        """The value with tokens in the place of slots."""
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
        """A key is a string, whatever the form of a slot."""
        return self.joined((key,)) if isinstance(key, Slot) else self.plain(key)

    def slot(self, slot: Slot) -> str:
        """A slot that is a whole value."""
        if slot.form == "name":
            return self.joined((slot,))
        return self.gap("%d" if slot.form == "number" else '"%d"', lambda columns: columns[slot.column])

    def joined(self, parts: tuple[str | Slot, ...]) -> str:
        """Strings and slots that make one string: written by the skeleton if every row's is written alike."""
        parts = tuple(part for part in parts if part != "")
        self.names.update(part.column for part in parts if isinstance(part, Slot) and part.form == "name")
        if _is_settled("".join(part for part in parts if not isinstance(part, Slot)), isinstance(parts[0], Slot)):
            return "".join(part if isinstance(part, str) else self.settled(part) for part in parts)
        if len(parts) == 1 and isinstance(only := parts[0], Slot) and only.form == "name":
            return self.gap("%s", lambda columns: _names(columns[only.column]))
        return self.gap("%s", lambda columns: _join(parts, columns))

    def settled(self, slot: Slot) -> str:
        """A slot in a string whose style is settled."""
        return self.gap("%s" if slot.form == "name" else "%d", lambda columns: columns[slot.column])


def _is_settled(literal: str, begins_with_slot: bool) -> bool:
    """Whether the style of a string hangs on its literal parts alone, and not on the names and numbers between them.

    Names and numbers are made of characters that may stand everywhere in a plain scalar but at its start. A string is
    no word of YAML if it begins like a word and has a literal character that is no letter.
    """
    if "\n" in literal:
        return True
    if begins_with_slot or not literal or literal[0] == "." or (literal[0].isascii() and literal[0].isdigit()):
        return False
    return not (literal.isascii() and literal.isalpha())


def _names(column: Column) -> Iterable[str]:
    """Names as scalars: nearly always plain, which one look at all of them tells."""
    return column if re.fullmatch(_PLAIN_NAMES, "\n".join([*column, ""])) else [scalar(name) for name in column]


def _join(parts: tuple[str | Slot, ...], columns: Sequence[Column]) -> list[str]:
    """The joined strings of a batch as scalars."""
    rows = range(len(columns[0]))
    return [scalar("".join(str(columns[p.column][row]) if isinstance(p, Slot) else p for p in parts)) for row in rows]
