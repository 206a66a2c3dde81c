"""Shell arithmetic over whole numbers: + - * / %, parentheses."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\s*([0-9]{1,18}|[-+*/%()])")
MOST = 10**18


def value(text: str) -> int | None:
    """What a sum gives. None where it is no sum of whole numbers, or one that no shell of 64 bits holds."""
    tokens: list[str] = []
    at, text = 0, text.strip()
    while at < len(text) and len(tokens) < 200:
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        tokens.append(found[1])
        at = found.end()
    try:
        number, rest = _sum(tokens)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return None if rest or at < len(text) or abs(number) > MOST else number


def _sum(tokens: list[str]) -> tuple[int, list[str]]:
    number, rest = _product(tokens)
    while rest and rest[0] in "+-":
        sign = 1 if rest[0] == "+" else -1
        other, rest = _product(rest[1:])
        number += sign * other
    return number, rest


def _product(tokens: list[str]) -> tuple[int, list[str]]:
    number, rest = _atom(tokens)
    while rest and rest[0] in "*/%":
        other, after = _atom(rest[1:])
        quotient = abs(number) // abs(other) if rest[0] != "*" else 0
        quotient = quotient if (number < 0) == (other < 0) else -quotient  # shells cut towards zero
        number = {"*": number * other, "/": quotient, "%": number - quotient * other}[rest[0]]
        rest = after
    return number, rest


def _atom(tokens: list[str]) -> tuple[int, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first == "-":
        number, rest = _atom(rest)
        return -number, rest
    if first == "(":
        number, rest = _sum(rest)
        if rest[0] != ")":
            raise ValueError
        return number, rest[1:]
    return int(first), rest
