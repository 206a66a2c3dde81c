"""Common parts of messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from heapq import nlargest
from itertools import islice, pairwise

from bayplan.core.diagnostics import Diagnostic

_MANY = 1000
"""With more candidates, bayplan does not look for a similar word."""

_FEW = 20
"""It compares so many candidates whole: those that share the most pairs of letters with the word."""

_LONGEST = 60
"""The most characters of a string to show."""


def did_you_mean(word: str, candidates: Collection[str], but: str = "") -> str:
    """`did you mean "rack"?` if a candidate is close to the word, or an empty string. `but`: no candidate."""
    if not word or len(word) > 100 or len(candidates) > _MANY:
        return ""
    from difflib import get_close_matches  # only needed for errors

    folded = _folded(tuple(candidates))
    words = [candidate for candidate in folded if folded[candidate] not in (word, but)]
    if len(words) > _FEW:
        shared = _pairs(word.lower()).intersection
        words = nlargest(_FEW, words, key=lambda candidate: len(shared(_pairs(candidate))))
    near = get_close_matches(word.lower(), words)
    return f'did you mean "{folded[near[0]]}"?' if near else ""


@lru_cache(16)
def _folded(candidates: tuple[str, ...]) -> dict[str, str]:
    """Each candidate in lower case, in the order of the alphabet, with its own spelling."""
    return {candidate.lower(): candidate for candidate in sorted({*candidates}) if candidate}


@lru_cache(2 * _MANY)
def _pairs(word: str) -> frozenset[str]:
    return frozenset(map("".join, pairwise(f"^{word}$")))


def listing(words: Iterable[str], conjunction: str = "or", most: int = 20) -> str:
    """`"a", "b" or "c"`, in this order. After `most` words, the number of the others."""
    words = words if isinstance(words, Collection) else [*words]
    quoted = [f'"{word}"' for word in islice(words, most)]
    if len(words) > most:
        quoted.append(f"{len(words) - most} more")
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {conjunction} {quoted[-1]}"


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def suggest(word: str, candidates: Collection[str], what: str = "known", but: str = "") -> str:
    """The nearest candidate, or all of them: `known: "rack" and "spine"`. `but`: none of them. Empty without any."""
    near = did_you_mean(word, candidates, but)
    if near or len(candidates) > _MANY:
        return near or f"{what}: {listing(candidates, 'and')}"
    words = [candidate for candidate in candidates if candidate != but]
    return f"{what}: {listing(words, 'and')}" if words else ""


def shorten(text: str) -> str:
    """The beginning of a string, without line breaks, for a message."""
    shown = text[:_LONGEST] if text[:_LONGEST].isprintable() else text[:_LONGEST].encode("unicode_escape").decode()
    return shown if len(text) <= _LONGEST else f"{shown}..."


_LINE = 800
"""The most characters of a message."""


def one_line(text: str) -> str:
    """A message on one line, cut to its longest length."""
    shown = text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= _LINE else f"{shown[:_LINE]}..."


def single_line(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with one line for each message, also if names in it contain line breaks."""
    notes = tuple(note._replace(message=one_line(note.message)) for note in diagnostic.notes)
    return diagnostic._replace(message=one_line(diagnostic.message), hint=one_line(diagnostic.hint), notes=notes)
