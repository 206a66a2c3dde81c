"""How many steps a backtracking matcher takes for a pattern and a text: a measure that no other process disturbs.

The pattern becomes a program of the usual kind (characters, splits, saved places), in the order in which CPython's `re`
tries its ways. A step is one instruction, so a repeat of a single character costs a few steps where `re` takes one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

Text = str | bytes


class TooManyError(Exception):
    """More steps than the counter allows."""


class Counter:
    """The steps so far, and how many more there may be."""

    def __init__(self, most: int) -> None:
        self.steps, self.most = 0, most

    def step(self) -> None:
        """One more."""
        self.steps += 1
        if self.steps > self.most:
            raise TooManyError


class Code(NamedTuple):
    """One instruction: `one` (a character), `split`, `jump`, `save`, `again`, `at`, `look`, `same` or `match`."""

    name: str
    argument: Any = None
    other: Any = None


class Program:
    """The instructions of one pattern."""

    def __init__(self, pattern: Text, flags: int = 0) -> None:
        tree = _parser.parse(pattern, flags)
        self.flags = tree.state.flags
        self.codes: list[Code] = []
        self.slots = 2 * tree.state.groups
        self._sequence(tree)
        self.codes.append(Code("match"))

    def _sequence(self, tree: Any) -> None:
        for operation, argument in tree:
            self._item(operation, argument)

    def _item(self, operation: Any, argument: Any) -> None:
        match operation:
            case sre.LITERAL | sre.NOT_LITERAL | sre.ANY | sre.IN:
                self.codes.append(Code("one", matched_by(_key(operation, argument), self.flags)))
            case sre.SUBPATTERN:
                group, added, removed, inner = argument
                before, self.flags = self.flags, (self.flags | added) & ~removed
                self._grouped(group, inner)
                self.flags = before
            case sre.BRANCH:
                self._branches(argument[1])
            case sre.MAX_REPEAT | sre.MIN_REPEAT:
                self._repeat(*argument, lazy=operation is sre.MIN_REPEAT)
            case sre.AT:
                self.codes.append(Code("at", argument))
            case sre.ASSERT | sre.ASSERT_NOT:
                behind, inner = argument
                self._look(inner, operation is sre.ASSERT, behind < 0)
            case sre.GROUPREF:
                self.codes.append(Code("same", argument))
            case _:
                raise NotImplementedError(operation)

    def _grouped(self, group: int | None, inner: Any) -> None:
        if group is None:
            self._sequence(inner)
            return
        self.codes.append(Code("save", 2 * group))
        self._sequence(inner)
        self.codes.append(Code("save", 2 * group + 1))

    def _branches(self, branches: Any) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._hole()
            self._sequence(branch)
            ends.append(self._hole())
            self.codes[split] = Code("split", split + 1, len(self.codes))
        self._sequence(branches[-1])
        for end in ends:
            self.codes[end] = Code("jump", len(self.codes))

    def _repeat(self, least: int, most: int, inner: Any, lazy: bool) -> None:
        for _ in range(least):
            self._sequence(inner)
        if most is not sre.MAXREPEAT:
            splits = []
            for _ in range(least, most):
                splits.append(self._hole())
                self._sequence(inner)
            for split in splits:
                self._split(split, split + 1, len(self.codes), lazy)
            return
        split = self._hole()
        if inner.getwidth()[0]:
            self._sequence(inner)
            self.codes.append(Code("jump", split))
        else:
            slot, self.slots = self.slots, self.slots + 1
            self.codes.append(Code("save", slot))
            self._sequence(inner)
            self.codes.append(Code("again", slot, split))
        self._split(split, split + 1, len(self.codes), lazy)

    def _look(self, inner: Any, wanted: bool, behind: bool) -> None:
        hole = self._hole()
        self._sequence(inner)
        self.codes.append(Code("match"))
        width = inner.getwidth()[0] if behind else 0
        self.codes[hole] = Code("look", (hole + 1, wanted, width), len(self.codes))

    def _hole(self) -> int:
        self.codes.append(Code("match"))
        return len(self.codes) - 1

    def _split(self, place: int, first: int, second: int, lazy: bool) -> None:
        self.codes[place] = Code("split", *((second, first) if lazy else (first, second)))

    def run(self, text: Text, start: int, counter: Counter, *, whole: bool = False) -> int | None:
        """The end of the match that begins at `start`. None: there is none."""
        found = self._run(0, text, start, counter, (-1,) * self.slots, whole)
        return found[0] if found else None

    def _run(
        self, first: int, text: Text, start: int, counter: Counter, slots: tuple[int, ...], whole: bool
    ) -> tuple[int, tuple[int, ...]] | None:
        stack = [(first, start, slots)]
        while stack:
            place, at, slots = stack.pop()
            while True:
                counter.step()
                name, argument, other = self.codes[place]
                place += 1
                if name == "one":
                    if at == len(text) or text[at] not in argument:
                        break
                    at += 1
                elif name == "split":
                    stack.append((other, at, slots))
                    place = argument
                elif name == "jump":
                    place = argument
                elif name == "save":
                    slots = (*slots[:argument], at, *slots[argument + 1 :])
                elif name == "again":
                    if slots[argument] != at:  # an empty repeat ends the loop
                        place = other
                elif name == "at":
                    if not is_at(argument, text, at, self.flags):
                        break
                elif name == "same":
                    part = text[slots[2 * argument] : slots[2 * argument + 1]]
                    if text[at : at + len(part)] != part:
                        break
                    at += len(part)
                elif name == "look":
                    inside, wanted, width = argument
                    found = self._run(inside, text, at - width, counter, slots, False) if at >= width else None
                    if (found is not None) != wanted:
                        break
                    slots = found[1] if found else slots
                    place = other
                elif whole and at != len(text):
                    break
                else:
                    return at, slots
        return None


def _key(operation: Any, argument: Any) -> tuple[Any, ...]:
    return (operation, tuple(argument) if isinstance(argument, list) else argument)


class Characters:
    """The characters that an item matches. `re` itself decides, once for each character."""

    def __init__(self, item: tuple[Any, ...], flags: int) -> None:
        operation, argument = item
        state = _parser.State()
        state.flags = flags
        pattern = _parser.SubPattern(state, [(operation, [*argument] if isinstance(argument, tuple) else argument)])
        self._match = _compiled(pattern, flags)
        self._known: dict[Any, bool] = {}

    def __contains__(self, character: Any) -> bool:
        if character not in self._known:
            self._known[character] = self._match(character)
        return self._known[character]


def _compiled(pattern: Any, flags: int) -> Callable[[Any], bool]:
    from re import _compiler  # type: ignore[attr-defined]

    find = _compiler.compile(pattern, flags)
    return lambda character: find.match(chr(character) if isinstance(character, int) else character) is not None


@cache
def matched_by(item: tuple[Any, ...], flags: int) -> Characters:
    """The characters of an item, made once."""
    return Characters(item, flags & (re.IGNORECASE | re.DOTALL | re.ASCII))


def is_at(place: Any, text: Text, at: int, flags: int) -> bool:
    """Whether an offset is the start, the end or another place that an anchor names."""
    newline = "\n" if isinstance(text, str) else b"\n"
    if place in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
        lines = place is sre.AT_BEGINNING and flags & re.MULTILINE
        return at == 0 or bool(lines and text[at - 1 : at] == newline)
    if place in (sre.AT_END, sre.AT_END_STRING):
        rest = text[at:]
        ends = rest == newline or (flags & re.MULTILINE and rest[:1] == newline)
        return not rest or bool(place is sre.AT_END and ends)
    word = r"\w" if isinstance(text, str) else rb"\w"
    before = at > 0 and re.match(word, text[at - 1 : at]) is not None
    apart = before != (re.match(word, text[at : at + 1]) is not None)
    return apart if place is sre.AT_BOUNDARY else not apart


@cache
def program(pattern: Text, flags: int) -> Program:
    """The program of a pattern, made once."""
    return Program(pattern, flags)


def steps(pattern: Text, flags: int, method: str, text: Text, most: int = 2_000_000) -> int:
    """The steps of a method on a text; more than `most` if it needs more. `sub` stands for all that search again."""
    counter, code = Counter(most), program(pattern, int(flags))
    try:
        if method in ("match", "fullmatch"):
            code.run(text, 0, counter, whole=method == "fullmatch")
        else:
            for _ in searched(code, text, counter):
                if method == "search":
                    break
    except TooManyError:
        pass
    return counter.steps


def searched(code: Program, text: Text, counter: Counter) -> Iterator[tuple[int, int]]:
    """The matches in a text, from left to right."""
    at = 0
    while at <= len(text):
        end = code.run(text, at, counter)
        if end is None:
            at += 1
            continue
        yield at, end
        at = max(end, at + 1)
