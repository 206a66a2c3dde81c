"""The pod templates in an object of any kind, and how many pods each creates.

A pod template is a mapping with a `spec` that has a list of `containers`: that holds for Jobs as for kinds of which
bayplan never heard. Only the number of pods needs to be known kind by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.kube.objects import api_group, get, items, mapping, number_in, pod_templates, text
from bayplan.model.manifest import Object

# How many pods each kind of controller creates from a pod template.

CountPath = tuple[str | int, ...]


class Amount(NamedTuple):
    """`copies` equal sets of `replicas` pods each. None: unknown."""

    replicas: int | None
    copies: int | None = 1

    @property
    def total(self) -> int | None:
        """The pods of all copies."""
        if self.replicas is None or self.copies is None or min(self.replicas, self.copies) < 0:
            return None
        return self.replicas * self.copies


UNKNOWN = Amount(None)


def amount(data: Any, path: CountPath) -> Amount:
    """The amount of the template at a path; unknown for kinds without a row."""
    count = COUNTS.get((api_group(data), text(data, "kind")))
    return count(data, path) if count else UNKNOWN


def _default(data: Any, *path: str | int, default: int = 1) -> int | None:
    """The number at a path; the default if it is missing, unknown if it is not a number."""
    return default if get(data, *path) is None else number_in(data, *path)


def _one(data: Any, path: CountPath) -> Amount:
    return Amount(1)


def _replicas(data: Any, path: CountPath, default: int = 1) -> Amount:
    """`replicas` beside the template: ReplicaSets, tasks of Volcano, roles of Kubeflow, and others."""
    return Amount(_default(data, *path[:-1], "replicas", default=default))


def of_job(data: Any, path: CountPath) -> Amount:
    """Pods that run at the same time, of the Job whose pod template is at the path."""
    parallelism = _default(data, *path[:-1], "parallelism")
    if get(data, *path[:-1], "completions") is None or parallelism is None:
        return Amount(parallelism)
    completions = number_in(data, *path[:-1], "completions")
    return Amount(None if completions is None else min(parallelism, completions))


def of_replicated_job(data: Any, path: CountPath) -> Amount:
    """`...replicatedJobs[n].template.spec.template`, as JobSets and training runtimes have it."""
    return Amount(of_job(data, path).replicas, _default(data, *path[:-3], "replicas"))


def _lws(data: Any, path: CountPath) -> Amount:
    """A leader and size - 1 workers per group. Without a template of its own, the leader uses the workers'."""
    sets, size = _default(data, "spec", "replicas"), _default(data, "spec", "leaderWorkerTemplate", "size")
    if path[-1:] == ("leaderTemplate",):
        return Amount(1, sets)
    led = bool(mapping(data, "spec", "leaderWorkerTemplate", "leaderTemplate"))
    return Amount(size - 1 if size is not None and led else size, sets)


def _mpi(data: Any, path: CountPath) -> Amount:
    """One launcher, and no workers if their number is missing (mpi-operator 0.6, pkg/apis/.../default.go)."""
    return _replicas(data, path, default=0 if "Worker" in path else 1)


def _ray(data: Any, path: CountPath) -> Amount:
    """One head, one submitter; workers within their bounds (kuberay 1.4, utils.GetWorkerGroupDesiredReplicas)."""
    if "workerGroupSpecs" not in path:
        return Amount(1)
    group = path[:-1]
    if get(data, *group, "suspend") is True:
        return Amount(0)
    replicas, hosts = _default(data, *group, "replicas", default=0), _default(data, *group, "numOfHosts")
    least, most = _default(data, *group, "minReplicas", default=0), number_in(data, *group, "maxReplicas")
    if replicas is None or hosts is None or least is None or min(replicas, hosts) < 0:
        return UNKNOWN
    wanted = max(replicas, least)
    return Amount((wanted if most is None else min(wanted, most)) * hosts)


def _grove(data: Any, path: CountPath) -> Amount:
    """The pods of a clique in all scaling groups, for each replica of the set."""
    from bayplan.kube import grove  # few manifests have its kinds

    parts = grove.layout(data)
    sizes = {each.name: each.replicas for each in parts.groups}
    clique = next((each for each in parts.cliques if each.path == path), None)
    copies = sizes.get(clique.group, 1) if clique else None
    if clique is None or copies is None or parts.copies is None:
        return UNKNOWN
    return Amount(clique.replicas, copies * parts.copies)


Count = Callable[[Any, CountPath], Amount]

COUNTS: Mapping[tuple[str, str], Count] = {
    ("", "Pod"): _one,
    ("batch", "Job"): of_job,
    ("batch", "CronJob"): of_job,
    ("apps", "Deployment"): _replicas,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("jobset.x-k8s.io", "JobSet"): lambda data, path: of_replicated_job(data, path) if len(path) == 6 else UNKNOWN,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _lws,
    ("batch.volcano.sh", "Job"): partial(_replicas, default=0),  # Volcano 1.15, `TaskSpec.Replicas`
    ("kubeflow.org", "MPIJob"): _mpi,
    ("kubeflow.org", "PyTorchJob"): _replicas,
    ("kubeflow.org", "TFJob"): _replicas,
    ("kubeflow.org", "JAXJob"): _replicas,
    ("kubeflow.org", "PaddleJob"): _replicas,
    ("kubeflow.org", "XGBoostJob"): _replicas,
    ("ray.io", "RayCluster"): _ray,
    ("ray.io", "RayJob"): _ray,
    ("grove.io", "PodCliqueSet"): _grove,
    ("nvidia.com", "DynamoGraphDeployment"): _grove,
}
"""API group and kind -> the number of pods of the template at a path."""

Path = tuple[str | int, ...]

GROVE = (("grove.io", "PodCliqueSet"), ("nvidia.com", "DynamoGraphDeployment"))
"""Kinds without pod templates, whose cliques have a pod spec."""

DEEPEST = 12
"""The most mappings above a pod template; ClusterTrainingRuntimes have 7."""


class PodTemplate(NamedTuple):
    """One pod template. `pods` is `None` if their number is unknown."""

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
        """Whether a controller creates the pods."""
        return bool(self.path)


def templates_in(objects: Iterable[Object]) -> tuple[PodTemplate, ...]:
    """All pod templates of the objects, in their order. Those of Grove's objects are at the paths of their cliques."""
    return tuple(
        PodTemplate(one, path, data, amount(one.data, path).total)
        for one in map(_opened, objects)
        if get(one.data, "kind") != "ConfigMap"
        for path, data in pod_templates(one.data, DEEPEST)
    )


def _opened(one: Object) -> Object:
    if (api_group(one.data), text(one.data, "kind")) not in GROVE:
        return one
    from bayplan.kube import grove  # few manifests have its kinds

    return grove.opened(one)


def containers(template: PodTemplate) -> Iterator[tuple[Route, Mapping[str, Any]]]:
    """Every container, including init containers, with its place."""
    for key in ("containers", "initContainers"):
        for index, each in enumerate(items(template.spec, key)):
            if isinstance(each, Mapping):
                yield (*template.spec_route, key, index), each
