"""Pieces of sentences."""

from __future__ import annotations

import pytest

from bayplan.core.phrases import count, did_you_mean, listing, shorten, suggest


@pytest.mark.parametrize(
    ("word", "candidates", "answer"),
    [
        ("rak", ["rack", "spine"], 'did you mean "rack"?'),
        ("minreplicas", ["replicas", "minReplicas"], 'did you mean "minReplicas"?'),
        ("zzz", ["rack", "spine"], ""),
        ("rack", [], ""),
        ("", ["rack"], ""),
        ("rack", ["rack"], ""),
        ("Rack", ["rack"], 'did you mean "rack"?'),
        ("r" * 1000, ["rack"], ""),
        ("n1", [f"n{n}" for n in range(5000)], ""),
    ],
)
def test_did_you_mean(word: str, candidates: list[str], answer: str) -> None:
    assert did_you_mean(word, candidates) == answer


def test_listing() -> None:
    assert listing([]) == ""
    assert listing(["a"]) == '"a"'
    assert listing(["a", "b", "c"]) == '"a", "b" or "c"'
    assert listing("abcde", "and", most=2) == '"a", "b" and 3 more'


def test_suggest() -> None:
    assert suggest("rak", ["rack", "spine"], "levels") == 'did you mean "rack"?'
    assert suggest("x", ["rack", "spine"], "levels") == 'levels: "rack" and "spine"'
    assert suggest("x", [], "levels") == ""


def test_count() -> None:
    assert (count(1, "node"), count(2, "node"), count(0, "node")) == ("1 node", "2 nodes", "0 nodes")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "..."),
        ("two\nlines", "two\\nlines"),
        ("x" * 60 + "\n", "x" * 60 + "..."),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("ü", "ü"),
    ],
)
def test_a_long_text_is_shown_by_its_beginning(text: str, shown: str) -> None:
    assert shorten(text) == shown
