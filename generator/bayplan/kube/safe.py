"""Reading objects that others wrote, in which anything may stand anywhere: a wrong type reads as nothing."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any


def get(data: Any, *path: str | int) -> Any:
    """The value at the end of a path; None where there is none."""
    for key in path:
        if isinstance(data, dict):
            data = None if isinstance(key, int) else data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data):
            data = data[key]
        else:
            return None
    return data


def mapping(data: Any, *path: str | int) -> Mapping[str, Any]:
    """The mapping at the end of a path; empty where there is none."""
    found = get(data, *path)
    return found if isinstance(found, dict) else {}


def items(data: Any, *path: str | int) -> Sequence[Any]:
    """The list at the end of a path; empty where there is none."""
    found = get(data, *path)
    return found if isinstance(found, list) else ()


def text(data: Any, *path: str | int) -> str:
    """The string at the end of a path; empty where there is none."""
    found = get(data, *path)
    return found if isinstance(found, str) else ""


def number(data: Any, *path: str | int) -> int | None:
    """The whole number at the end of a path; None where there is none."""
    found = get(data, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def put(data: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy with the value at the end of a path; what is missing on the way are mappings."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        return [put(each, rest, value) if number == key else each for number, each in enumerate(data)]
    own = data if isinstance(data, Mapping) else {}
    return {**own, key: put(own.get(key), rest, value)}


def without_annotations(data: Mapping[str, Any], names: Container[str]) -> Mapping[str, Any]:
    """The object without annotations of these names; without any that are left, it has no `annotations`."""
    found = mapping(data, "metadata", "annotations")
    kept = {key: value for key, value in found.items() if key not in names}
    if len(kept) == len(found):
        return data
    rest = {key: value for key, value in data["metadata"].items() if key != "annotations"}
    return {**data, "metadata": {**rest, "annotations": kept} if kept else rest}


def api_group(data: Any) -> str:
    """`scheduling.run.ai` of an object of `scheduling.run.ai/v2`; empty for the core group."""
    return text(data, "apiVersion").rpartition("/")[0]


def is_kind(data: Any, group: str, kind: str) -> bool:
    """Whether the object is of that API group (empty: the core group) and kind, in any version."""
    version = text(data, "apiVersion")
    found, slash, _ = version.rpartition("/")
    return text(data, "kind") == kind and found == group and bool(slash or not group)


Templates = Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]


def pod_templates(data: Any, depth: int = 6) -> Templates:
    """Every pod template in an object with the path to it: a mapping whose `spec` holds `containers`. A Pod is one."""
    if isinstance(data, Mapping):
        if isinstance(get(data, "spec", "containers"), list):
            yield (), data
        elif depth:
            for key, value in data.items():
                yield from (((key, *path), found) for path, found in pod_templates(value, depth - 1))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from (((number, *path), found) for path, found in pod_templates(value, depth))
