"""Objects as users wrote them: values, names and places."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.model.manifest import Object

# Read objects of any shape: a value of the wrong type reads as a missing one.


def get(data: Any, *path: str | int) -> Any:
    """The value at the end of a path; None if it is missing."""
    for key in path:
        if isinstance(data, dict):
            data = None if type(key) is int else data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data):
            data = data[key]
        else:
            return None
    return data


def mapping(data: Any, *path: str | int) -> Mapping[str, Any]:
    """The mapping at the end of a path; empty if it is missing."""
    value = get(data, *path)
    return value if isinstance(value, dict) else {}


def items(data: Any, *path: str | int) -> Sequence[Any]:
    """The list at the end of a path; empty if it is missing."""
    value = get(data, *path)
    return value if isinstance(value, list) else ()


def text(data: Any, *path: str | int) -> str:
    """The string at the end of a path; empty if it is missing."""
    value = get(data, *path)
    return value if isinstance(value, str) else ""


def number_in(data: Any, *path: str | int) -> int | None:
    """The integer at the end of a path; None if it is missing."""
    value = get(data, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def put(data: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy with the value at the end of a path. Missing mappings on the way are created."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        return [put(each, rest, value) if number == key else each for number, each in enumerate(data)]
    own = data if isinstance(data, Mapping) else {}
    return {**own, key: put(own.get(key), rest, value)}


def without_item(data: Any, path: Sequence[str | int]) -> Any:
    """A copy without the item of a list at the end of a path."""
    rest = [each for number, each in enumerate(get(data, *path[:-1])) if number != path[-1]]
    return put(data, path[:-1], rest)


def without_annotations(data: Mapping[str, Any], names: Container[str]) -> Mapping[str, Any]:
    """The object without annotations of these names, and without `annotations` if none are left."""
    annotations = mapping(data, "metadata", "annotations")
    kept = {key: value for key, value in annotations.items() if key not in names}
    if len(kept) == len(annotations):
        return data
    rest = {key: value for key, value in data["metadata"].items() if key != "annotations"}
    return {**data, "metadata": {**rest, "annotations": kept} if kept else rest}


def api_group(data: Any) -> str:
    """`scheduling.run.ai` of an object of `scheduling.run.ai/v2`; empty for the core group."""
    version = data.get("apiVersion") if isinstance(data, dict) else None
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def is_kind(data: Any, group: str, kind: str) -> bool:
    """Whether the object is of that API group (empty: the core group) and kind, in any version."""
    own_group, slash, _ = text(data, "apiVersion").rpartition("/")
    return text(data, "kind") == kind and own_group == group and bool(slash or not group)


Templates = Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]


def pod_templates(data: Any, depth: int = 6) -> Templates:
    """Every pod template in an object with the path to it: a mapping whose `spec` holds `containers`. A Pod is one."""
    if isinstance(data, Mapping):
        if isinstance(get(data, "spec", "containers"), list):
            yield (), data
        elif depth:
            for key, value in data.items():
                yield from (((key, *path), template) for path, template in pod_templates(value, depth - 1))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from (((number, *path), template) for path, template in pod_templates(value, depth))


def group(one: Object) -> str:
    """`scheduling.run.ai` of `scheduling.run.ai/v2`; empty for the core group."""
    return api_group(one.data)


def kind(one: Object) -> str:
    """Its kind."""
    value = one.data.get("kind") if isinstance(one.data, dict) else None
    return value if isinstance(value, str) else ""


def name(one: Object) -> str:
    """Its name; empty if the API server generates it."""
    return text(one.data, "metadata", "name")


def namespace(one: Object) -> str:
    """Its namespace; empty if `kubectl apply` decides it."""
    return text(one.data, "metadata", "namespace")


def title(one: Object) -> str:
    """`PodGroup "train"`."""
    what = kind(one) or "object"
    return f'{what} "{name(one)}"' if name(one) else what


def named(one: Object) -> Route:
    """The place of its name."""
    return (*one.route, "metadata", "name")


def identity(data: Any) -> tuple[str, str, str, str]:
    """API group, kind, namespace and name, which identify an object."""
    return api_group(data), text(data, "kind"), text(data, "metadata", "namespace"), text(data, "metadata", "name")


def flattened(one: Object) -> Iterator[Object]:
    """The items of a List, which may contain Lists; any other object as it is."""
    if kind(one).endswith("List") and isinstance(get(one.data, "items"), list | tuple):
        for index, each in enumerate(items(one.data, "items")):
            yield from flattened(Object((*one.route, "items", index), each))
    else:
        yield one


def number(route: Route) -> int:
    """N of a route into `manifest:N`."""
    return int(str(route[0]).partition(":")[2])


def non_empty(**fields: Any) -> dict[str, Any]:
    """The fields that are not empty."""
    return {name: value for name, value in fields.items() if value}
