"""Rules by which Slurm's names of nodes follow from Kubernetes' (`schedulers.slurm.names`), made from pairs of both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.values import NamedTuple

MOST = 100
"""Rules of a topology file."""
LONGEST = 256

Pair = tuple[str, str]
Rule = Mapping[str, str]


class Split(NamedTuple):
    """A name as the texts around its numbers, and the numbers."""

    texts: tuple[str, ...]
    numbers: tuple[str, ...]


def rules(pairs: Mapping[str, str]) -> list[Rule] | None:
    """Rules that make the second name of each pair out of the first; none where all are the same, None where a hundred
    rules are too few."""
    if all(name == other for name, other in pairs.items()):
        return []
    groups: dict[tuple[object, ...], list[Pair]] = {}
    for name, other in pairs.items():
        whole, made = _split(name), _split(other)
        key = (whole.texts, tuple(map(len, whole.numbers)), made.texts, tuple(map(len, made.numbers)))
        groups.setdefault(key, []).append((name, other))
    made_of = [rule for held in groups.values() for rule in _rules(held)]
    if _hold(made_of, pairs):
        return made_of
    explicit = [_explicit(pair) for pair in pairs.items() if len(pairs) <= MOST]
    return explicit if _hold(explicit, pairs) else None


def _hold(made: Sequence[Rule], pairs: Mapping[str, str]) -> bool:
    """Whether these are all right, the first that matches a whole name counting."""
    if not 0 < len(made) <= MOST or any(len(text) > LONGEST for rule in made for text in rule.values()):
        return False
    compiled = [(re.compile(rule["from"]), rule["to"]) for rule in made]
    for name, other in pairs.items():
        matches = ((pattern.fullmatch(name), to) for pattern, to in compiled)
        if next((found.expand(to) for found, to in matches if found), name) != other:
            return False
    return True


def _split(name: str) -> Split:
    parts = re.split("([0-9]+)", name)
    return Split(tuple(parts[::2]), tuple(parts[1::2]))


def _explicit(pair: Pair) -> Rule:
    return {"from": _plain(pair[0]), "to": pair[1].replace("\\", "\\\\")}


def _plain(text: str) -> str:
    """The text as a pattern: names have letters, digits, dashes and dots."""
    return text.replace(".", "[.]") if re.fullmatch("[A-Za-z0-9.-]*", text) else re.escape(text)


def _rules(pairs: Sequence[Pair]) -> Iterator[Rule]:
    """One rule for pairs that have their numbers at the same places, where it can be told which is which."""
    left = [_split(name) for name, _ in pairs]
    right = [_split(other) for _, other in pairs]
    columns = [[each.numbers[place] for each in left] for place in range(len(left[0].numbers))]
    varied = [column for column in columns if len(set(column)) > 1]
    made: list[str] = []
    for place in range(len(right[0].numbers)):
        source = _source(varied, [each.numbers[place] for each in right])
        if source is None:
            yield from map(_explicit, pairs)
            return
        made.append(source)
    texts = [text.replace("\\", "\\\\") for text in right[0].texts]
    whole = "".join(text + number for text, number in zip(texts, [*made, ""], strict=True))
    yield {"from": _pattern(left[0].texts, columns), "to": re.sub(r"\\g<([0-9])>(?![0-9])", r"\\\1", whole)}


def _source(varied: Sequence[Sequence[str]], wanted: Sequence[str]) -> str | None:
    """What gives one number of the new names: always the same, or one of the old numbers, perhaps with zeros before."""
    if len(set(wanted)) == 1:
        return wanted[0]
    for place, column in enumerate(varied, 1):
        zeros = len(wanted[0]) - len(column[0])
        if zeros >= 0 and all("0" * zeros + had == want for had, want in zip(column, wanted, strict=True)):
            return f"{'0' * zeros}\\g<{place}>"
    return None


def _pattern(texts: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """The old names: numbers that are always the same stand for themselves."""
    made = _plain(texts[0])
    for text, column in zip(texts[1:], columns, strict=True):
        length = f"{{{len(column[0])}}}" if len(column[0]) > 1 else ""
        made += (f"([0-9]{length})" if len(set(column)) > 1 else column[0]) + _plain(text)
    return made
