"""Generated manifests compared with existing ones: objects that are missing or left over, and fields that differ.

Lists whose entries have names compare by name, as Kubernetes merges them. An object from a cluster (it has a `uid`) has
many generated fields, so only the fields that bayplan would write count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube import quantity
from bayplan.kube.kinds import WORKFLOW_LABEL
from bayplan.kube.objects import get, identity, text
from bayplan.model.manifest import Manifest, Object

Key = tuple[str, str, str, str]

ABSENT = None
"""A missing value. Kubernetes treats a null in the same way."""

EMPTY: tuple[Any, ...] = (ABSENT, {}, [], "")


class Field(NamedTuple):
    """A field that differs: its current value, and the value that bayplan would write."""

    path: str
    before: Any
    after: Any


class Diff(NamedTuple):
    """Two sets of manifests. Titles are such as `JobSet "pretrain" in ml`."""

    missing: tuple[str, ...]  # bayplan would write them, and they do not exist
    left: tuple[str, ...]  # they exist and are of the same workflows, and bayplan would not write them
    changed: tuple[tuple[str, tuple[Field, ...]], ...]

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.missing or self.left or self.changed)


def difference(wanted: Iterable[Manifest], existing: Sequence[Object], namespace: str) -> Diff:
    """The difference. `namespace`: the one of objects without a namespace. Objects of other workflows do not count."""
    ours = {_key(each, namespace): each for each in wanted}
    theirs = {_key(one.data, namespace): one for one in existing}
    flows = {text(each, "metadata", "labels", WORKFLOW_LABEL) for each in ours.values()} - {""}
    left = [
        _title(key, one.data)
        for key, one in theirs.items()
        if key not in ours and text(one.data, "metadata", "labels", WORKFLOW_LABEL) in flows
    ]
    changed = []
    for key, each in ours.items():
        if key in theirs:
            current = theirs[key].data
            live = bool(text(current, "metadata", "uid"))
            fields = tuple(_fields("", _located(current, key), _located(each, key), live))
            changed += [(_title(key, each), fields)] if fields else []
    return Diff(
        tuple(_title(key, each) for key, each in ours.items() if key not in theirs), tuple(left), tuple(changed)
    )


def _key(data: Any, namespace: str) -> Key:
    group, what, where, called = identity(data)
    return group, what, where or namespace, called


def _title(key: Key, data: Manifest) -> str:
    where = f" in {key[2]}" if key[2] else ""
    return f'{key[1]} "{key[3]}"{where}'


def _located(data: Any, key: Key) -> Any:
    """The object with its namespace, written or default."""
    metadata = get(data, "metadata")
    return {**data, "metadata": {**metadata, "namespace": key[2]}} if isinstance(metadata, dict) and key[2] else data


def _fields(path: str, before: Any, after: Any, live: bool) -> Iterator[Field]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*after, *(key for key in before if key not in after and not live)]:
            yield from _fields(inside(path, str(key)), before.get(key), after.get(key), live)
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        yield from _entries(path, before, after, live)
    elif not same(before, after):
        yield Field(path or ".", before, after)


def inside(path: str, key: str) -> str:
    """The path of a key in a mapping: `spec.queue`, `labels["a.b/c"]`."""
    return (f"{path}.{key}" if path else key) if key.replace("-", "").replace("_", "").isalnum() else f'{path}["{key}"]'


def _entries(path: str, before: Sequence[Any], after: Sequence[Any], live: bool) -> Iterator[Field]:
    names = [_named(before), _named(after)]
    if names[0] is None or names[1] is None:
        for number in range(max(len(before), len(after))):
            old, new = (side[number] if number < len(side) else ABSENT for side in (before, after))
            yield from _fields(f"{path}[{number}]", old, new, live)
        return
    for each in [*names[1], *(each for each in names[0] if each not in names[1] and not live)]:
        yield from _fields(f"{path}[{each}]", names[0].get(each), names[1].get(each), live)


def _named(entries: Sequence[Any]) -> dict[str, Any] | None:
    """The entries by name, if all have one and none has that of another."""
    by_name = {text(each, "name"): each for each in entries}
    return None if "" in by_name or len(by_name) < len(entries) else by_name


def same(before: Any, after: Any) -> bool:
    """Whether Kubernetes treats two values in the same way."""
    if before == after or (before in EMPTY and after in EMPTY):
        return True
    try:  # the API server normalises quantities: 1000m is 1
        return not isinstance(before, bool) and quantity.parse(str(before)) == quantity.parse(str(after))
    except ValueError:
        return False
