"""The pod templates in an object of any kind, known or not, and how many pods each stands for.

A pod template is a mapping with a `spec` that has a list of `containers`: that holds for Jobs as for kinds of which
bayplan never heard. Only the number of pods needs to be known kind by kind (`kube/counts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.counts import amount
from bayplan.kube.safe import get, items, mapping, pod_templates
from bayplan.model.manifest import Object
from bayplan.values import NamedTuple

Path = tuple[str | int, ...]

DEEPEST = 12
"""Mappings above a pod template, at most; ClusterTrainingRuntimes have 7."""


class PodTemplate(NamedTuple):
    """One pod template. `pods` is None where nobody can tell how many there will be."""

    object: Object
    path: Path  # from the object to the mapping that has `metadata` and `spec`
    data: Any
    pods: int | None

    @property
    def route(self) -> Route:
        """The place of the template."""
        return (*self.object.route, *self.path)

    @property
    def spec(self) -> Mapping[str, Any]:
        """The pod spec."""
        return mapping(self.data, "spec")

    @property
    def spec_route(self) -> Route:
        """The place of the pod spec."""
        return (*self.route, "spec")

    @property
    def labels(self) -> Mapping[str, Any]:
        """Labels of its pods."""
        return mapping(self.data, "metadata", "labels")

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Annotations of its pods."""
        return mapping(self.data, "metadata", "annotations")

    @property
    def owned(self) -> bool:
        """Whether a controller makes the pods."""
        return bool(self.path)


def templates(objects: Iterable[Object]) -> tuple[PodTemplate, ...]:
    """All pod templates of the objects, in their order."""
    return tuple(each for one in objects for each in _of(one))


def _of(one: Object) -> Iterator[PodTemplate]:
    if get(one.data, "kind") == "ConfigMap":
        return
    for path, data in pod_templates(one.data, DEEPEST):
        yield PodTemplate(one, path, data, amount(one.data, path).total)


def containers(template: PodTemplate) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """Every container, also those that run first, with its place."""
    for key in ("containers", "initContainers"):
        for index, each in enumerate(items(template.spec, key)):
            if isinstance(each, Mapping):
                yield (*template.spec_route, key, index), each
