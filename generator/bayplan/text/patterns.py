"""How long a user's regular expression may take. Python's `re` backtracks: unlike Go's RE2, it can take forever."""

from __future__ import annotations

import re
from functools import cache
from math import inf
from typing import Any, NamedTuple

MOST_STEPS = 1_000_000
"""Steps for one text, about ten milliseconds."""

_DEEPEST = 50
_END = "the end of the text"
_CHARACTERS = [*map(chr, range(128)), "\xe9"]
"""All characters that a pattern can tell apart: with re.ASCII, all others match the same classes."""
_TOKEN = re.compile(
    r"\\[^xuUN0-9]|\[\^?\]?(?:[^]\\]|\\[^xuUN0-9])*\]|\((?:\?:|\?P<\w+>)?(?!\?)"  # an escape, a class, a group
    r"|(?:[*+?]|\{(?!\})[0-9]*(?:,[0-9]*)?\})[?+]?|[^\\\[(]",  # a repeat, another character
    re.DOTALL,
)


class _Cost(NamedTuple):
    """Upper bounds of the number of ways to match a part of a pattern, and of the steps for all of them.

    `first`: the characters that a match may begin with. `empty`: whether a match may be empty.
    """

    ways: float
    steps: float
    first: frozenset[str]
    empty: bool = False


_FOREVER = _Cost(inf, inf, frozenset())

Item = tuple[Any, float, float]
"""A token or the choices of a group, and the least and most repeats."""


def steps(pattern: str, length: int, *, whole: bool) -> float:
    """An upper bound of the steps that `re` takes for a valid pattern and a string of that length, with re.ASCII.

    `whole`: for `fullmatch`, otherwise for `search`. Infinite for repeats of what has several ways to match, and for
    lookarounds, references to groups, escapes of codes and other syntax that this module does not know.
    """
    flags, text = int(re.ASCII), pattern
    if match := re.match(r"\(\?([is]{1,2})\)", pattern):
        flags |= re.IGNORECASE * ("i" in match[1]) | re.DOTALL * ("s" in match[1])
        text = pattern[match.end() :]
    tokens: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or not text.isascii():
            return inf
        tokens.append(token[0])
        at = token.end()
    cost = _of_choices(_choices(tokens[::-1], 0), frozenset([_END] if whole else ()), length + 1, flags)
    starts = whole or (text.startswith(("^", "\\A")) and "|" not in text)
    return cost.steps * (1 if starts else length + 1)


def _choices(tokens: list[str], depth: int) -> list[list[Item]]:
    """The choices of a group, from its tokens in reverse order, up to the parenthesis that closes it."""
    choices: list[list[Item]] = [[]]
    while tokens and tokens[-1] != ")":
        item: Any = tokens.pop()
        if item == "|":
            choices.append([])
            continue
        if item[0] == "(":
            item = _choices(tokens, depth + 1) if depth < _DEEPEST else None
            del tokens[-1:]
        choices[-1].append((item, *_repeats(tokens)))
    return choices


def _repeats(tokens: list[str]) -> tuple[float, float]:
    if not tokens or not (tokens[-1][0] in "*+?" or (tokens[-1][0] == "{" and tokens[-1][1:])):
        return 1, 1
    repeat = tokens.pop()
    if repeat[0] != "{":
        return int(repeat[0] == "+"), 1 if repeat[0] == "?" else inf
    least, comma, most = repeat.rstrip("?+")[1:-1].partition(",")
    return int(least or 0), int(most) if most else inf if comma else int(least)


def _of_choices(choices: list[list[Item]], after: frozenset[str], size: int, flags: int) -> _Cost:
    """`after`: the characters that may follow. `size`: the most repeats."""
    costs = [_of_sequence(each, after, size, flags) for each in choices]
    first = frozenset[str]().union(*(each.first for each in costs))
    apart = len(first) == sum(len(each.first) for each in costs)
    ways = [each.ways for each in costs]
    every = sum(each.steps for each in costs)
    return _Cost(max(ways) if apart else sum(ways), every, first, any(each.empty for each in costs))


def _of_sequence(items: list[Item], after: frozenset[str], size: int, flags: int) -> _Cost:
    ways, every, first, empty = 1.0, 1.0, after, True
    for item, least, most in reversed(items):
        one = _of_item(item, first, size, flags)
        here, needed = one.ways, one.steps
        if most > 1:
            one = _of_item(item, first | one.first, size, flags)
            here, needed = _repeated(one, one.first & first, least, most, size)
        elif not least and (one.empty or one.first & first):
            here += 1
        every = needed + here * every
        ways *= here
        empty = empty and (one.empty or not least)
        first = one.first if least and not one.empty else one.first | first
    return _Cost(ways, every, first, empty)


def _repeated(one: _Cost, clash: frozenset[str], least: float, most: float, size: int) -> tuple[float, float]:
    """The ways and steps of a repeat. What follows ends it at one place, unless it begins with the same characters."""
    if one.ways > 1 or one.empty:
        return inf, inf
    times = min(most, size)
    return times if clash and least < most else 1, times * one.steps


def _of_item(item: Any, after: frozenset[str], size: int, flags: int) -> _Cost:
    if item is None:
        return _FOREVER
    if not isinstance(item, str):
        return _of_choices(item, after, size, flags)
    if item in ("$", r"\Z", r"\z"):
        return _Cost(1, 1, frozenset((_END, *"\n"[: item == "$"])), empty=True)
    if item in ("^", r"\A", r"\b", r"\B"):
        return _Cost(1, 1, after, empty=True)
    return _Cost(1, 1, _matched(item, flags))


@cache
def _matched(token: str, flags: int) -> frozenset[str]:
    """The characters that a token matches."""
    find = re.compile(token if len(token) > 1 or token == "." else re.escape(token), flags).fullmatch
    return frozenset(filter(find, _CHARACTERS))
