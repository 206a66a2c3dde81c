"""A skeleton with slots -> a text with gaps, written once and filled a batch of rows at a time."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from bayplan._emit.scalars import scalar
from bayplan.model.manifest import Slot
from bayplan.values import NamedTuple

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
        for column in form.names:
            _check_names(columns[column])
        values = zip(*(gap.values(columns) for gap in form.gaps), strict=True) if form.gaps else [()] * len(batch)
        yield "---\n".join(map(form.text.__mod__, values))


def _check_names(column: Column) -> None:
    text = "\n".join([*column, ""])
    if not re.fullmatch(_NAMES, text) or text.count("\n") != len(column):
        wrong = next(name for name in column if "\n" in name or not re.fullmatch(_NAMES, name + "\n"))
        raise ValueError(f"not a DNS-1123 name: {wrong!r}")


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
            return "".join(self.piece(part) for part in parts)
        if len(parts) == 1 and isinstance(only := parts[0], Slot) and only.form == "name":
            return self.gap("%s", lambda columns: _names(columns[only.column]))
        return self.gap("%s", lambda columns: _join(parts, columns))

    def piece(self, part: str | Slot) -> str:
        """A part of a string whose style is settled."""
        if not isinstance(part, Slot):
            return part
        return self.gap("%s" if part.form == "name" else "%d", lambda columns: columns[part.column])


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
