"""Slurm's bracket notation for lists of nodes: `gb-a1-n[01-18],login2` (slurm src/common/hostlist.c).

Commas or blanks separate items. Brackets contain numbers and ranges, and a leading zero fixes the width. If an item has
several brackets, the last varies fastest. Slurm's functions (`block{...}`) need a running Slurm and are not supported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, product

from bayplan.core.diagnostics import Diagnostic

MOST = 200_000
"""Names in one list."""
MOST_OF_FILE = 500_000
"""Names in all lists of a file."""

_LARGEST = 10**9
_BLANKS = str.maketrans(" \t\r\n", ",,,,")


class Issues(list[Diagnostic]):
    """The findings of the reader of a file, and how many names the rest of its lists may have."""

    room = MOST_OF_FILE


def expand_of_file(text: str, issues: list[Diagnostic]) -> tuple[str, ...]:
    """`expand` for one of the lists of a file. ValueError too for the list with which `Issues` have too many names.

    The lists after it are empty.
    """
    if not isinstance(issues, Issues):
        return expand(text)
    if issues.room < 0:
        return ()
    names = expand(text)
    issues.room -= len(names)
    if issues.room < 0:
        raise ValueError(f"with it, the lists of the file name more than {MOST_OF_FILE} nodes")
    return names


def expand(text: str) -> tuple[str, ...]:
    """The names of a hostlist, in order. ValueError with the fault if it is not valid."""
    names: list[str] = []
    for item in _items(text.translate(_BLANKS)):
        if "[" not in item and "]" not in item:
            names.append(item)
        else:
            names.extend(_expand_item(item, MOST - len(names)))
        if len(names) > MOST:
            raise ValueError(f"it names more than {MOST} nodes")
    return tuple(names)


def _items(text: str) -> Iterator[str]:
    """The items of a list. Commas inside brackets do not separate."""
    start = 0
    while start < len(text):
        end = _next(text, ",", start)
        bracket = text.find("[", start, end)
        while bracket >= 0:
            closed = _next(text, "]", bracket)
            end = _next(text, ",", closed)
            bracket = text.find("[", closed, end)
        if end > start:
            yield text[start:end]
        start = end + 1


def _next(text: str, character: str, start: int) -> int:
    place = text.find(character, start)
    return len(text) if place < 0 else place


def _expand_item(item: str, room: int) -> Iterable[str]:
    """The names of one item. A bracket with one number becomes literal, so that thousands of these stay cheap."""
    parts: list[list[str]] = []
    literal: list[str] = []
    total, start = 1, 0
    while (opened := item.find("[", start)) >= 0:
        closed = item.find("]", opened)
        if closed < 0 or item.find("]", start, opened) >= 0 or item.find("[", opened + 1, closed) >= 0:
            raise ValueError(f'unbalanced brackets in "{item[:60]}"')
        literal.append(item[start:opened])
        numbers = _numbers(item[opened + 1 : closed], item, room)
        if len(numbers) == 1:
            literal += numbers
        else:
            parts += [["".join(literal)], numbers]
            literal = []
        total, start = total * len(numbers), closed + 1
        if total > room:
            raise ValueError(f"it names more than {MOST} nodes")
    if "]" in item[start:]:
        raise ValueError(f'unbalanced brackets in "{item[:60]}"')
    return map("".join, product(*parts, ["".join((*literal, item[start:]))]))


def _numbers(inside: str, item: str, room: int) -> list[str]:
    numbers: list[str] = []
    for span in inside.split(","):
        low, dash, high = span.strip().partition("-")
        first, last = _number(low, item), _number(high if dash else low, item)
        if first > last:
            raise ValueError(f'the range "{span[:40]}" in "{item[:60]}" runs backwards')
        if dash and (len(high) < len(low) or (high[0] == "0" and len(high) != len(low))):
            raise ValueError(f'the ends of the range "{span[:40]}" in "{item[:60]}" are padded differently')
        if len(numbers) + last - first >= room:
            raise ValueError(f"it names more than {MOST} nodes")
        width = len(low) if low[0] == "0" else 0
        numbers += [str(number).zfill(width) for number in range(first, last + 1)]
    return numbers


def _number(text: str, item: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f'"{text[:40]}" in the brackets of "{item[:60]}" is not a number')
    if len(text) > 18 or int(text) > _LARGEST:
        raise ValueError(f'the number {text[:40]} in "{item[:60]}" is too large')
    return int(text)


Split = tuple[tuple[str, str], str]
"""The parts of a name before and after a number, and the number."""


def compress(names: Iterable[str]) -> str:
    """A short hostlist; `expand(compress(names))` gives the same names in the same order.

    What counts up is the last number of a name, or of a host name before its domain: `ip-10-0-0-[1-18].us-east-2`.
    """
    listed = list(names)
    if not any("." in name for name in listed):
        return _joined(map(_split, listed))
    by_host = _joined(map(_split_host, listed))
    if 2 * len(by_host) < sum(map(len, listed)):
        return by_host
    return min(_joined(map(_split, listed)), by_host, key=len)


def _joined(names: Iterable[Split]) -> str:
    return ",".join(
        _bracket(stem, [digits for _, digits in members])
        for (stem, _), members in groupby(names, key=lambda pair: (pair[0], bool(pair[1])))
    )


def _split_host(name: str) -> Split:
    """A name divided at the last number before its first dot."""
    host, dot, domain = name.partition(".")
    (before, after), digits = _split(host)
    return (before, f"{after}{dot}{domain}"), digits


def _split(name: str) -> Split:
    """A name divided at its last number."""
    end = len(name)
    while end and name[end - 1] not in "0123456789":
        end -= 1
    start = len(name[:end].rstrip("0123456789"))
    if start == end or end - start > 9:  # no number, or one beyond what expand reads
        return (name, ""), ""
    return (name[:start], name[end:]), name[start:end]


def _bracket(stem: tuple[str, str], digits: list[str]) -> str:
    before, after = stem
    if len(digits) == 1 or not digits[0]:
        return ",".join(f"{before}{each}{after}" for each in digits)
    return f"{before}[{','.join(_spans(digits))}]{after}"


def _spans(digits: list[str]) -> Iterator[str]:
    first = last = digits[0]
    for each in digits[1:]:
        if each != str(int(last) + 1).zfill(len(first) if first[0] == "0" else 0):
            yield _span(first, last)
            first = each
        last = each
    yield _span(first, last)


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first}-{last}"
