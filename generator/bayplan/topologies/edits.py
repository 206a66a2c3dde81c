"""Changes of a native document, as values."""

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.values import NamedTuple


class Edit(NamedTuple):
    """A value to set at a path; or, with `append`, entries to add to the list there. Missing mappings are made."""

    path: tuple[str | int, ...]
    value: Any
    append: bool = False


def edited(data: Any, edits: Iterable[Edit]) -> Any:
    """The data with all edits."""
    for edit in edits:
        data = _set(data, edit.path, edit)
    return data


def _set(data: Any, path: tuple[str | int, ...], edit: Edit) -> Any:
    if not path:
        return [*edit.value, *(data or ())] if edit.append else edit.value
    step, *rest = path
    if isinstance(step, int):
        return [_set(each, tuple(rest), edit) if n == step else each for n, each in enumerate(data)]
    mapping: Mapping[str, Any] = data or {}
    return {**mapping, step: _set(mapping.get(step), tuple(rest), edit)}
