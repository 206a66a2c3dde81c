"""Pod templates in whatever somebody wrote: where they stand, how many pods they make, what their names end in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.kube import objects
from bayplan.model.manifest import Object


class Template(NamedTuple):
    """One pod template. `total` is None where the kind is not known; `flat`: its pods differ by a number alone."""

    route: Route
    namespace: str
    data: Mapping[str, Any]
    total: int | None
    flat: bool

    def label(self, key: str) -> str:
        return objects.text(self.data, "metadata", "labels", key)

    @property
    def scheduler(self) -> str:
        return objects.text(self.data, "spec", "schedulerName")


def templates(each: Object) -> Iterator[Template]:
    """The pod templates of one object."""
    namespace = objects.text(each.data, "metadata", "namespace")
    kind = objects.text(each.data, "kind")
    for path, data in objects.pod_templates(each.data):
        yield Template((*each.route, *path), namespace, data, _count(kind, each.data, path), flat=kind == "Job")


def _count(kind: str, data: Mapping[str, Any], path: Route) -> int | None:
    if kind == "Pod":
        return 1
    if kind == "Job":
        return _number(objects.get(data, "spec", "parallelism"))
    if kind == "JobSet" and len(path) > 2:
        job = objects.get(data, *path[:3])
        return _number(objects.get(job, "replicas")) * _number(objects.get(job, "template", "spec", "parallelism"))
    if kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        return _number(objects.get(data, "spec", "replicas"))
    return None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 1
