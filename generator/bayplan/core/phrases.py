"""Small pieces of sentences that diagnostics share."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.diagnostics import Diagnostic

_MANY = 2000
"""Beyond so many candidates a guess costs more than it helps."""

_LONGEST = 60
"""Characters of a text that are shown."""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """`did you mean "rack"?` when a candidate is close to the word, else an empty text."""
    words = sorted({candidate for candidate in candidates if candidate and candidate != word})
    if not word or len(word) > 100 or len(words) > _MANY:
        return ""
    from difflib import get_close_matches  # only a mistake pays for it

    folded = {candidate.lower(): candidate for candidate in words}
    near = get_close_matches(word.lower(), list(folded))
    return f'did you mean "{folded[near[0]]}"?' if near else ""


def listing(words: Iterable[str], conjunction: str = "or", most: int = 20) -> str:
    """`"a", "b" or "c"`, in the order given; after `most` words the rest is counted."""
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
    """A near candidate, else all of them: `known: "rack" and "spine"`. Empty when there are none."""
    words = list(candidates)
    return did_you_mean(word, words) or (f"{what}: {listing(words, 'and')}" if words else "")


def shorten(text: str) -> str:
    """The beginning of a text as part of a sentence of one line."""
    shown = text[:_LONGEST] if text[:_LONGEST].isprintable() else text[:_LONGEST].encode("unicode_escape").decode()
    return shown if len(text) <= _LONGEST else f"{shown}..."


_LINE = 800
"""Characters of a sentence into which others' words were put."""


def one_line(text: str) -> str:
    """A sentence without anything that would break its line, and not longer than anyone reads."""
    shown = text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= _LINE else f"{shown[:_LINE]}..."


def single_line(diagnostic: Diagnostic) -> Diagnostic:
    """The finding in sentences of one line each, whatever names of others were put into them."""
    notes = tuple(note._replace(message=one_line(note.message)) for note in diagnostic.notes)
    return diagnostic._replace(message=one_line(diagnostic.message), hint=one_line(diagnostic.hint), notes=notes)
