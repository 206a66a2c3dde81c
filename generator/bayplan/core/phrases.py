"""Common parts of messages."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.diagnostics import Diagnostic

_MANY = 2000
"""With more candidates, bayplan does not look for a similar word."""

_LONGEST = 60
"""The most characters of a string to show."""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """`did you mean "rack"?` if a candidate is close to the word, or an empty string."""
    words = sorted({candidate for candidate in candidates if candidate and candidate != word})
    if not word or len(word) > 100 or len(words) > _MANY:
        return ""
    from difflib import get_close_matches  # only needed for errors

    folded = {candidate.lower(): candidate for candidate in words}
    near = get_close_matches(word.lower(), list(folded))
    return f'did you mean "{folded[near[0]]}"?' if near else ""


def listing(words: Iterable[str], conjunction: str = "or", most: int = 20) -> str:
    """`"a", "b" or "c"`, in this order. After `most` words, the number of the others."""
    quoted = [f'"{word}"' for word in words]
    if len(quoted) > most:
        quoted[most:] = [f"{len(quoted) - most} more"]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {conjunction} {quoted[-1]}"


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def suggest(word: str, candidates: Iterable[str], what: str = "known") -> str:
    """The nearest candidate, or all of them: `known: "rack" and "spine"`. Empty without candidates."""
    words = list(candidates)
    return did_you_mean(word, words) or (f"{what}: {listing(words, 'and')}" if words else "")


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
