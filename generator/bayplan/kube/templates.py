"""The pod templates in an object of any kind, known or not, and how many pods each stands for.

A pod template is a mapping with a `spec` that has a list of `containers`: that holds for Jobs as for kinds of which
bayplan never heard. Only the number of pods needs to be known kind by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.safe import get, items, mapping, number, pod_templates, text
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
        yield PodTemplate(one, path, data, _pods(one.data, path))


def _pods(data: Any, path: Path) -> int | None:
    group = text(data, "apiVersion").rpartition("/")[0]
    count = COUNTS.get((group, text(data, "kind")))
    found = count(data, path) if count else None
    return None if found is None or found < 0 else found


def _times(*numbers: int | None) -> int | None:
    """The product; unknown as soon as one is."""
    product = 1
    for each in numbers:
        if each is None:
            return None
        product *= each
    return product


def _default(data: Any, *path: str | int, default: int = 1) -> int | None:
    """The number there, the default where nothing is, unknown where it is something else."""
    return default if get(data, *path) is None else number(data, *path)


def _replicas(data: Any, path: Path) -> int | None:
    """`replicas` beside the template: ReplicaSets, tasks of Volcano, roles of Kubeflow, and others."""
    return _default(data, *path[:-1], "replicas")


def _job(data: Any, path: Path) -> int | None:
    """Pods that run at once."""
    parallelism = _default(data, *path[:-1], "parallelism")
    completions = number(data, *path[:-1], "completions")
    return parallelism if parallelism is None or completions is None else min(parallelism, completions)


def _jobset(data: Any, path: Path) -> int | None:
    """`spec.replicatedJobs[n].template.spec.template`: replicas x parallelism."""
    return _times(_default(data, *path[:3], "replicas"), _job(data, path)) if len(path) == 6 else None


def _lws(data: Any, path: Path) -> int | None:
    """A leader and size - 1 workers a group; without a template of its own the leader is made of the workers'."""
    sets, size = _default(data, "spec", "replicas"), _default(data, "spec", "leaderWorkerTemplate", "size")
    if path[-1:] == ("leaderTemplate",):
        return sets
    led = bool(mapping(data, "spec", "leaderWorkerTemplate", "leaderTemplate"))
    return _times(sets, size - 1 if size is not None and led else size)


def _ray(data: Any, path: Path) -> int | None:
    """One head; workers as their group says."""
    if "headGroupSpec" in path:
        return 1
    hosts = _default(data, *path[:-1], "numOfHosts")
    return _times(number(data, *path[:-1], "replicas"), hosts)


Count = Callable[[Any, Path], int | None]

COUNTS: Mapping[tuple[str, str], Count] = {
    ("", "Pod"): lambda data, path: 1,
    ("batch", "Job"): _job,
    ("apps", "Deployment"): _replicas,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("jobset.x-k8s.io", "JobSet"): _jobset,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _lws,
    ("batch.volcano.sh", "Job"): _replicas,
    ("kubeflow.org", "MPIJob"): _replicas,
    ("kubeflow.org", "PyTorchJob"): _replicas,
    ("kubeflow.org", "TFJob"): _replicas,
    ("kubeflow.org", "JAXJob"): _replicas,
    ("kubeflow.org", "XGBoostJob"): _replicas,
    ("ray.io", "RayCluster"): _ray,
}
"""API group and kind -> the number of pods of the template at a path."""


def containers(template: PodTemplate) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """Every container, also those that run first, with its place."""
    for key in ("containers", "initContainers"):
        for index, each in enumerate(items(template.spec, key)):
            if isinstance(each, Mapping):
                yield (*template.spec_route, key, index), each
