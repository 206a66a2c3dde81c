"""What others have written, indexed: groups by name, and the pods that name them. Nothing here trusts its input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.safe import get, items, number, text
from bayplan.model.manifest import Object
from bayplan.values import NamedTuple

GROUP = "scheduling.k8s.io"
WORKLOAD, POD_GROUP, COMPOSITE = "Workload", "PodGroup", "CompositePodGroup"
Key = tuple[str, str]  # namespace, name


class Group(NamedTuple):
    """A Workload, PodGroup or CompositePodGroup."""

    kind: str
    version: str
    namespace: str
    name: str
    route: Route  # of its spec
    spec: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return self.namespace, self.name

    @property
    def title(self) -> str:
        """For messages."""
        return f'{self.kind} "{self.name}"'

    @property
    def parent(self) -> str:
        """The CompositePodGroup above it."""
        return text(get(self.spec, "parentCompositePodGroupName"))

    @property
    def label(self) -> str:
        """The node label of its level."""
        return text(get(self.spec, "schedulingConstraints", "topology", 0, "key"))

    @property
    def template(self) -> tuple[Route, str, str]:
        """Where it names its template, the Workload and the template: 1.37's words, else 1.36's."""
        if get(self.spec, "workloadRef") is not None:
            at: Route = ("workloadRef",)
            return at, text(get(self.spec, *at, "workloadName")), text(get(self.spec, *at, "templateName"))
        at = ("podGroupTemplateRef", "workload")
        return at, text(get(self.spec, *at, "workloadName")), text(get(self.spec, *at, "podGroupTemplateName"))


class Template(NamedTuple):
    """A template inside a Workload."""

    name: str
    route: Route
    spec: Mapping[str, Any]
    composite: bool
    depth: int


class PodSpec(NamedTuple):
    """The pods of one template, wherever it stands. `count` is None where the number is not written."""

    kind: str
    namespace: str
    route: Route  # of the pod spec
    spec: Mapping[str, Any]
    count: int | None

    @property
    def group(self) -> str:
        """The PodGroup that the pods name (1.36 and later)."""
        return text(get(self.spec, "schedulingGroup", "podGroupName"))

    @property
    def workload(self) -> str:
        """The Workload that the pods name (1.35)."""
        return text(get(self.spec, "workloadRef", "name"))


def groups(objects: Sequence[Object]) -> Iterator[Group]:
    """All objects of kube-scheduler."""
    for each in objects:
        group, _, version = text(get(each.data, "apiVersion")).rpartition("/")
        kind, spec = text(get(each.data, "kind")), get(each.data, "spec")
        if group == GROUP and kind in (WORKLOAD, POD_GROUP, COMPOSITE) and isinstance(spec, Mapping):
            yield Group(kind, version, _namespace(each), _name(each), (*each.route, "spec"), spec)


def templates(workload: Group) -> Iterator[Template]:
    """All templates of a Workload, parents first."""
    yield from _templates(workload.spec, workload.route, 1)


def _templates(spec: Mapping[str, Any], route: Route, depth: int) -> Iterator[Template]:
    for word, composite in (("podGroupTemplates", False), ("compositePodGroupTemplates", True)):
        for i, each in enumerate(items(get(spec, word))):
            if isinstance(each, Mapping):
                at = (*route, word, i)
                yield Template(text(get(each, "name")), at, each, composite, depth)
                if composite and depth < 32:
                    yield from _templates(each, at, depth + 1)


def pods(objects: Sequence[Object]) -> Iterator[PodSpec]:
    """The pod specs of all objects that name a group."""
    for each in objects:
        kind = text(get(each.data, "kind"))
        for path, count in _paths(kind, each.data):
            spec = get(each.data, *path)
            if isinstance(spec, Mapping):
                yield PodSpec(kind, _namespace(each), (*each.route, *path), spec, count)


def _paths(kind: str, data: Any) -> Iterator[tuple[Route, int | None]]:
    """Where a kind keeps its pod specs, and how many pods it makes of each."""
    if kind == "Pod":
        yield ("spec",), 1
    elif kind == "Job":
        yield ("spec", "template", "spec"), _many(get(data, "spec", "parallelism"))
    elif kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        yield ("spec", "template", "spec"), _many(get(data, "spec", "replicas"))
    elif kind == "JobSet":
        for i, job in enumerate(items(get(data, "spec", "replicatedJobs"))):
            each, copies = _many(get(job, "template", "spec", "parallelism")), _many(get(job, "replicas"))
            count = None if each is None or copies is None else each * copies
            yield ("spec", "replicatedJobs", i, "template", "spec", "template", "spec"), count
    elif kind == "LeaderWorkerSet":
        yield ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"), None
        yield ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"), None


def _many(value: Any) -> int | None:
    """A number of pods, 1 where there is none."""
    return 1 if value is None else number(value)


def _name(each: Object) -> str:
    return text(get(each.data, "metadata", "name"))


def _namespace(each: Object) -> str:
    return text(get(each.data, "metadata", "namespace"))
