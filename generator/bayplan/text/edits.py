"""Edits of a document, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Edit(NamedTuple):
    """Sets a value at a path, or with `append` adds entries to the list there. It creates missing mappings.

    `remove` removes the entry at the path. `insert` adds the value before the list entry at the path; the index after
    the last entry is the end. All paths are paths in the original document.
    """

    path: tuple[str | int, ...]
    value: Any = None
    append: bool = False
    remove: bool = False
    insert: bool = False


Step = str | int
Work = Sequence[tuple[tuple[Step, ...], Edit]]
"""Edits of one value, each with the rest of its path."""


def edited(data: Any, edits: Iterable[Edit]) -> Any:
    """The data with all edits."""
    return changed(data, [(edit.path, edit) for edit in edits])


def changed(data: Any, work: Work) -> Any:
    """A value after the edits of itself and of its parts."""
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
    """The edits of the parts of a value, by their first step."""
    steps: dict[Step, list[tuple[tuple[Step, ...], Edit]]] = {}
    for path, edit in work:
        if path:
            steps.setdefault(path[0], []).append((path[1:], edit))
    return steps


def removes(work: Work) -> bool:
    """Whether the edits remove the entry."""
    return any(edit.remove and not path for path, edit in work)


def inserted(work: Work) -> list[Any]:
    """The new entries before the entry."""
    return [edit.value for path, edit in work if edit.insert and not path]


def staying(work: Work) -> Work:
    """The edits of the entry itself."""
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
