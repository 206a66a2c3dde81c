"""What others have written, indexed: groups by name, and the pods that name them. Nothing here trusts its input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.native.groups import COMPONENT
from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, items, mapping, number_in, pod_templates, text
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology

MOST_DEPTH = 4
"""Groups on the way from the root to the pods (`WorkloadMaxTreeDepth`, 1.37)."""


class Index(NamedTuple):
    """The objects of one run on one cluster, each by what it is looked up by."""

    groups: tuple[Group, ...]
    pods: tuple[PodSpec, ...]
    objects: tuple[Object, ...]
    target: Target
    named: Mapping[str, Mapping[Key, Group]]  # kind -> name -> group
    inside: Mapping[Key, tuple[Template, ...]]  # Workload -> its templates
    members: Mapping[Key, Sequence[PodSpec]]  # PodGroup -> the pods that name it
    children: Mapping[Key, Sequence[Group]]  # CompositePodGroup -> the groups that name it as their parent
    levels: Mapping[str, int]  # node label -> its rank, 0 for the coarsest

    @property
    def kubernetes(self) -> str:
        """For messages."""
        return f"Kubernetes {self.target.version(COMPONENT)}"

    def made_from(self, group: Group) -> tuple[Group | None, Template | None]:
        """The Workload and the template that a group names, where they are among the objects."""
        _, workload, name = group.template
        key, composite = (group.namespace, workload), group.kind == COMPOSITE
        inside = self.inside.get(key, ())
        template = next((each for each in inside if each.name == name and each.composite == composite), None)
        return self.named[WORKLOAD].get(key), template

    def above(self, group: Group) -> Iterator[Group]:
        """The groups above a group, nearest first; one more than may be, so that a cycle ends."""
        here: Group | None = group
        for _ in range(MOST_DEPTH):
            here = self.named[COMPOSITE].get((here.namespace, here.parent)) if here and here.parent else None
            if here:
                yield here

    def root(self, group: Group) -> Group:
        """The topmost group that is known of its tree."""
        return (group, *self.above(group))[-1]


def indexed(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Index:
    """Everything indexed once: there may be thousands of groups."""
    all_groups, all_pods = tuple(groups(objects)), tuple(pods(objects))
    kinds = (WORKLOAD, POD_GROUP, COMPOSITE)
    named = {kind: {each.key: each for each in reversed(all_groups) if each.kind == kind} for kind in kinds}
    members: dict[Key, list[PodSpec]] = {}
    for each in all_pods:
        members.setdefault((each.namespace, each.group), []).append(each)
    children: dict[Key, list[Group]] = {}
    for group in all_groups:
        children.setdefault((group.namespace, group.parent), []).append(group)
    return Index(
        groups=all_groups,
        pods=all_pods,
        objects=tuple(objects),
        target=target,
        named=named,
        inside={key: tuple(templates(each)) for key, each in named[WORKLOAD].items()},
        members={key: found for key, found in members.items() if key[1]},
        children={key: found for key, found in children.items() if key[1]},
        levels=_levels(topology),
    )


def _levels(topology: ClusterTopology) -> dict[str, int]:
    made: dict[str, int] = {}
    for pool in topology.pools:
        for rank, level in enumerate((*pool.levels, HOST)):
            made[level.label] = min(rank, made.get(level.label, rank))
    return made


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
        return text(self.spec, "parentCompositePodGroupName")

    @property
    def label(self) -> str:
        """The node label of its level."""
        return text(self.spec, "schedulingConstraints", "topology", 0, "key")

    @property
    def template(self) -> tuple[Route, str, str]:
        """Where it names its template, the Workload and the template: 1.37's words, else 1.36's."""
        if get(self.spec, "workloadRef") is not None:
            at: Route = ("workloadRef",)
            return at, text(self.spec, *at, "workloadName"), text(self.spec, *at, "templateName")
        at = ("podGroupTemplateRef", "workload")
        return at, text(self.spec, *at, "workloadName"), text(self.spec, *at, "podGroupTemplateName")


class Template(NamedTuple):
    """A template inside a Workload."""

    name: str
    route: Route
    spec: Mapping[str, Any]
    composite: bool
    depth: int


class PodSpec(NamedTuple):
    """The pods of one template, wherever it stands."""

    kind: str
    namespace: str
    route: Route  # of the pod spec
    spec: Mapping[str, Any]
    pods: int | None

    @property
    def group(self) -> str:
        """The PodGroup that the pods name (1.36 and later)."""
        return text(self.spec, "schedulingGroup", "podGroupName")

    @property
    def named(self) -> bool:
        """Whether the pods name a group at all, in any version's words."""
        return any(get(self.spec, word) is not None for word in ("schedulingGroup", "workloadRef"))

    @property
    def workload(self) -> str:
        """The Workload that the pods name (1.35)."""
        return text(self.spec, "workloadRef", "name")


def groups(objects: Sequence[Object]) -> Iterator[Group]:
    """All objects of kube-scheduler."""
    for each in objects:
        group, _, version = text(each.data, "apiVersion").rpartition("/")
        kind, spec = text(each.data, "kind"), get(each.data, "spec")
        if group == GROUP and kind in (WORKLOAD, POD_GROUP, COMPOSITE) and isinstance(spec, Mapping):
            yield Group(kind, version, _namespace(each), _name(each), (*each.route, "spec"), spec)


def templates(workload: Group) -> Iterator[Template]:
    """All templates of a Workload, parents first."""
    yield from _templates(workload.spec, workload.route, 1)


def _templates(spec: Mapping[str, Any], route: Route, depth: int) -> Iterator[Template]:
    for word, composite in (("podGroupTemplates", False), ("compositePodGroupTemplates", True)):
        for i, each in enumerate(items(spec, word)):
            if isinstance(each, Mapping):
                at = (*route, word, i)
                yield Template(text(each, "name"), at, each, composite, depth)
                if composite and depth < 32:
                    yield from _templates(each, at, depth + 1)


def pods(objects: Sequence[Object]) -> Iterator[PodSpec]:
    """The pod specs of all objects, wherever they stand in them."""
    for each in objects:
        kind = text(each.data, "kind")
        for path, template in pod_templates(each.data):
            route = (*each.route, *path, "spec")
            yield PodSpec(kind, _namespace(each), route, mapping(template, "spec"), _pod_count(kind, each.data, path))


def _pod_count(kind: str, data: Any, path: Route) -> int | None:
    """How many pods come of a template; None where the kind does not tell, or somebody else decides."""
    if kind == "Pod":
        return 1
    if kind == "Job":
        return _number_or_one(data, "spec", "parallelism")
    if kind in ("StatefulSet", "ReplicaSet", "Deployment"):
        return _number_or_one(data, "spec", "replicas")
    if kind == "JobSet":
        job = get(data, *path[:3])  # spec.replicatedJobs.N
        copies, each = _number_or_one(job, "replicas"), _number_or_one(job, "template", "spec", "parallelism")
        return None if copies is None or each is None else copies * each
    return None


def _number_or_one(data: Any, *path: str) -> int | None:
    """A number of pods, 1 where there is none."""
    return 1 if get(data, *path) is None else number_in(data, *path)


def _name(each: Object) -> str:
    return text(each.data, "metadata", "name")


def _namespace(each: Object) -> str:
    """An object without a namespace lands in `default`, unless somebody says another one to kubectl."""
    return text(each.data, "metadata", "namespace") or "default"
