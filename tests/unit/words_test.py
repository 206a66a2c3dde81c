"""Pieces of sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from bayplan.core.phrases import count, did_you_mean, listing, shorten, suggest
from bayplan.core.values import cycles


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


def test_a_suggestion_compares_few_of_many_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    import difflib

    compared: list[int] = []
    closest = difflib.get_close_matches
    monkeypatch.setattr(
        difflib, "get_close_matches", lambda word, near: compared.append(len(near)) or closest(word, near)
    )
    names = [f"worker-{n:03d}-pool" for n in range(900)]
    assert did_you_mean("wroker-123-pool", names) == 'did you mean "worker-123-pool"?'
    assert compared == [20]


def test_a_suggestion_leaves_one_out() -> None:
    assert did_you_mean("rak", ["rack", "spine"], but="rack") == ""
    assert suggest("x", {"rack": 1, "spine": 2}, "levels", but="rack") == 'levels: "spine"'
    assert suggest("x", ["rack"], "levels", but="rack") == ""


class Counted(list[str]):
    """A list that counts how many of its values anybody read."""

    read = 0

    def __iter__(self) -> Iterator[str]:
        for value in super().__iter__():
            Counted.read += 1
            yield value


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, []),
        ({"a": ["a"]}, [["a"]]),
        ({"c": ["a"], "a": ["b"], "b": ["c"]}, [["a", "b", "c"]]),
        ({"x": ["b"], "b": ["a"], "a": ["b"]}, [["a", "b"]]),
        ({"a": ["b"], "b": ["a"], "c": ["d", "gone"], "d": ["c"]}, [["a", "b"], ["c", "d"]]),
    ],
)
def test_cycles(after: dict[str, list[str]], found: list[list[str]]) -> None:
    assert [*cycles(after)] == found


@pytest.mark.parametrize("step", [1, -1])
def test_cycles_read_every_name_once(step: int) -> None:
    names = [f"g{n:05d}" for n in range(5000)][::step]
    after = {name: Counted([other]) for name, other in pairwise(names)}
    Counted.read = 0
    assert [*cycles(after)] == []
    assert Counted.read == len(after)
    assert [len(cycle) for cycle in cycles({**after, names[-1]: [names[0]]})] == [5000]


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
