"""Changes of a native document, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bayplan.core.values import NamedTuple


class Edit(NamedTuple):
    """A value to set at a path; or, with `append`, entries to add to the list there. Missing mappings are made.

    `remove`: the entry at the path goes. `insert`: the value comes before the list's entry at the path; one past the
    last entry is the end. All paths are those of the document as it was, however many entries come and go.
    """

    path: tuple[str | int, ...]
    value: Any = None
    append: bool = False
    remove: bool = False
    insert: bool = False


Step = str | int
Work = Sequence[tuple[tuple[Step, ...], Edit]]
"""Edits of one value, each with what is left of its path."""


def edited(data: Any, edits: Iterable[Edit]) -> Any:
    """The data with all edits."""
    return changed(data, [(edit.path, edit) for edit in edits])


def changed(data: Any, work: Work) -> Any:
    """A value with the edits of it, and of what is in it."""
    for _, edit in (each for each in work if not each[0] and not each[1].append):
        data = edit.value
    steps = grouped(work)
    if any(isinstance(step, int) for step in steps):
        data = _list(data, steps)
    elif steps:
        data = _mapping(data, steps)
    for _, edit in (each for each in work if not each[0] and each[1].append):
        data = [*edit.value, *(data or ())]
    return data


def grouped(work: Work) -> dict[Step, list[tuple[tuple[Step, ...], Edit]]]:
    """The edits of what is in a value, by its first step."""
    steps: dict[Step, list[tuple[tuple[Step, ...], Edit]]] = {}
    for path, edit in work:
        if path:
            steps.setdefault(path[0], []).append((path[1:], edit))
    return steps


def removes(work: Work) -> bool:
    """Whether the entry goes."""
    return any(edit.remove and not path for path, edit in work)


def inserted(work: Work) -> list[Any]:
    """What comes before the entry."""
    return [edit.value for path, edit in work if edit.insert and not path]


def staying(work: Work) -> Work:
    """What is to be done to the entry itself."""
    return [(path, edit) for path, edit in work if path or not edit.insert]


def _mapping(data: Any, steps: Mapping[Step, Work]) -> dict[Any, Any]:
    mapping = dict(data or {})
    for step, work in steps.items():
        if removes(work):
            mapping.pop(step, None)
        else:
            mapping[step] = changed(mapping.get(step), work)
    return mapping


def _list(data: Any, steps: Mapping[Step, Work]) -> list[Any]:
    items: list[Any] = []
    for number, each in enumerate(data):
        work = steps.get(number, ())
        items += inserted(work)
        if not removes(work):
            items.append(changed(each, staying(work)))
    return [*items, *inserted(steps.get(len(data), ()))]
