"""PodCliqueSets of Grove, and DynamoGraphDeployments, from which Dynamo's operator makes a PodCliqueSet.

Their cliques have a `podSpec` instead of a pod template, so `opened` gives each one a pod template, and `closed` writes
the changes back. `made` are the PodCliques and PodGroups of a PodCliqueSet in the cluster.

Read from Grove v0.1.0-alpha.10 to alpha.12-rc1 and its main branch (fcc3b3bb): operator/api/core/v1alpha1,
internal/controller/podcliqueset/components/podgang/syncflow.go, internal/scheduler/kai/backend.go; KAI 0.13 to 0.17:
pkg/podgrouper/podgrouper/plugins/grove; Dynamo's main branch (v1beta1): deploy/operator/internal/dynamo/graph.go and
grove.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL, WORKFLOW_LABEL
from bayplan.kube.objects import get, group, items, kind, mapping, name, non_empty, number_in, put, text
from bayplan.model.augment import Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Manifest, Object
from bayplan.model.topology import HOST, ClusterTopology

API = "grove.io"
API_VERSION = f"{API}/v1alpha1"
SET = (API, "PodCliqueSet")
GRAPH = ("nvidia.com", "DynamoGraphDeployment")
BINDINGS = ((API, "ClusterTopologyBinding"), (API, "ClusterTopology"))
"""Kinds with the levels of a topology. The second is the name before Grove v0.1.0-alpha.9."""

KINDS: Mapping[tuple[str, str], str] = {SET: "podcliqueset", GRAPH: "dynamographdeployment"}
QUEUE = "kai.scheduler/queue"
DYNAMO_QUEUE = "nvidia.com/kai-scheduler-queue"
DYNAMO_GROVE = "nvidia.com/enable-grove"
DEFAULT_QUEUE = "dynamo"
SCHEDULER = "kai-scheduler"
MNNVL = "grove.io/mnnvl-group"
OPTED_OUT = "none"
GPU = "nvidia.com/gpu"
TEMPLATE: Path = ("spec", "template")
CLIQUES: Path = (*TEMPLATE, "cliques")
GROUPS: Path = (*TEMPLATE, "podCliqueScalingGroups")
CONSTRAINT = "topologyConstraint"
OF_A_CLIQUE = ("roleName", "podSpec", "replicas", "minAvailable", "startsAfter", "autoScalingConfig")
"""Fields of a clique's spec, which no pod has."""


def is_grove(one: Object) -> bool:
    """Whether Grove makes the pods of the object."""
    return (group(one), kind(one)) in KINDS


# The parts of a PodCliqueSet.


class Clique(NamedTuple):
    """Pods of one role. `least`: how many must start. None: not a number."""

    name: str
    path: Path
    replicas: int | None
    least: int | None
    group: str = ""  # the scaling group


class ScalingGroup(NamedTuple):
    """Cliques that scale together. Replicas beyond `least` are gangs of their own."""

    name: str
    path: Path
    cliques: tuple[str, ...]
    replicas: int | None
    least: int | None


class Layout(NamedTuple):
    """The cliques and scaling groups of one of `copies` replicas."""

    copies: int | None
    cliques: tuple[Clique, ...]
    groups: tuple[ScalingGroup, ...]

    def members(self, scaling_group: ScalingGroup) -> tuple[Clique, ...]:
        """The cliques of a scaling group, in its order."""
        by_name = {each.name: each for each in self.cliques}
        return tuple(by_name[each] for each in scaling_group.cliques if each in by_name)


def layout(data: Any) -> Layout:
    """The layout with the defaults of the CRD and of Grove's webhook (defaulting/podcliqueset.go)."""
    groups = tuple(_scaling_group(each, (*GROUPS, n)) for n, each in enumerate(items(data, *GROUPS)))
    owner = {clique: each.name for each in reversed(groups) for clique in each.cliques}
    cliques = tuple(
        _clique(each, (*CLIQUES, n), owner.get(text(each, "name"), "")) for n, each in enumerate(items(data, *CLIQUES))
    )
    return Layout(_number(data, 0, "spec", "replicas"), cliques, groups)


def _clique(data: Any, path: Path, owner: str) -> Clique:
    own = mapping(data, "podClique") or mapping(data, "spec")
    replicas = _number(own, 1, "replicas")
    return Clique(text(data, "name"), path, replicas or 1, _number(own, replicas or 1, "minAvailable"), owner)


def _scaling_group(data: Any, path: Path) -> ScalingGroup:
    cliques = tuple(each for each in items(data, "cliqueNames") if isinstance(each, str))
    return ScalingGroup(
        text(data, "name"), path, cliques, _number(data, 1, "replicas"), _number(data, 1, "minAvailable")
    )


def _number(data: Any, default: int, *path: str) -> int | None:
    return default if get(data, *path) is None else number_in(data, *path)


# An object with a pod template for each clique.
#
# The template is at the path of the clique, and the constraints are plain fields of `spec`, so that the code for other
# kinds of workloads reads and writes them.


def group_key(called: str) -> str:
    """The field of `spec` with the constraint of a scaling group."""
    return f"group/{called}"


def clique_key(called: str) -> str:
    """The field of `spec` with the constraint of a clique."""
    return f"clique/{called}"


def opened(one: Object) -> Object:
    """The object with pod templates, and with all constraints in `spec`; an opened one as it is."""
    if any("podClique" in mapping(each) for each in items(one.data, *CLIQUES)):
        return one
    data: Any = of_dynamo(one) if kind(one) == GRAPH[1] else one.data
    spec = dict(mapping(data, "spec"))
    for cell, _, each in _constraints(data):
        spec |= {str(cell[-1]): each} if each else {}
    cliques = [_opened(each) for each in items(data, *CLIQUES)]
    return Object(one.route, {**data, "spec": {**spec, "template": {**mapping(data, *TEMPLATE), "cliques": cliques}}})


def _opened(clique: Any) -> Manifest:
    own = mapping(clique, "spec")
    kept = {key: each for key, each in mapping(clique).items() if key not in ("labels", "annotations", "spec")}
    metadata = {key: clique[key] for key in ("labels", "annotations") if mapping(clique, key)}
    rest = {key: each for key, each in own.items() if key != "podSpec"}
    return {**kept, **non_empty(metadata=metadata), "spec": get(own, "podSpec") or {}, "podClique": rest}


def _constraints(data: Any) -> Iterator[tuple[Path, Path, Any]]:
    """The field in `spec`, the place in a PodCliqueSet, and the constraint there."""
    places = [(CONSTRAINT, TEMPLATE)]
    places += [(group_key(text(each, "name")), (*GROUPS, n)) for n, each in enumerate(items(data, *GROUPS))]
    places += [(clique_key(text(each, "name")), (*CLIQUES, n)) for n, each in enumerate(items(data, *CLIQUES))]
    for key, path in places:
        yield ("spec", key), (*path, CONSTRAINT), get(data, *path, CONSTRAINT)


def place(one: Object, path: Path) -> Path:
    """The path in the object of a path in the opened one."""
    graph = kind(one) == GRAPH[1]
    if path[:1] == ("spec",) and len(path) > 1 and (found := _constraint_place(one, path[1], graph)):
        return (*found, *path[2:])
    if graph and CONSTRAINT in path and path[:2] == TEMPLATE:
        return (*_dynamo_constraint(one, path), CONSTRAINT, *(("packDomain",) if path[-1] != CONSTRAINT else ()))
    if path[: len(CLIQUES)] != CLIQUES or len(path) <= len(CLIQUES):
        return path
    number, rest = path[len(CLIQUES)], path[len(CLIQUES) + 1 :]
    if graph:
        return _dynamo_place(one, int(number), rest)
    if rest[:1] == ("spec",) and (len(rest) < 2 or rest[1] not in OF_A_CLIQUE):
        return (*CLIQUES, number, "spec", "podSpec", *rest[1:])
    return (*CLIQUES, number, *(rest[1:] if rest[:1] == ("metadata",) else rest))


def closed(one: Object, before: Any, after: Any) -> tuple[Manifest, tuple[Path, ...]]:
    """The object with the changes of its opened form, and the places of those that it has no field for."""
    data: Any = one.data
    lost: list[Path] = []
    for path in _cells(after):
        value, there = get(after, *path), place(one, path)
        if value == get(before, *path):
            continue
        if kind(one) != GRAPH[1]:
            data = put(data, there, value)
        elif path[0] == "spec" and path[1] != "template":
            data, gone = _dynamo_packed(data, there, value)
            lost += [there] if gone else []
        elif path[-1] == "containers":
            data, gone = _dynamo_containers(one, data, path, get(before, *path), value)
            lost += [there] if gone else []
        else:
            data = put(data, there, value)
    return data, tuple(dict.fromkeys(lost))


def _cells(data: Any) -> Iterator[Path]:
    """The fields of an opened object that may have changed."""
    for word in ("labels", "annotations"):
        yield from (("metadata", word, key) for key in mapping(data, "metadata", word))
    yield from (("spec", key) for key in mapping(data, "spec") if key == CONSTRAINT or "/" in str(key))
    for number, clique in enumerate(items(data, *CLIQUES)):
        for word in ("labels", "annotations"):
            yield from ((*CLIQUES, number, "metadata", word, key) for key in mapping(clique, "metadata", word))
        yield from ((*CLIQUES, number, "spec", key) for key in mapping(clique, "spec"))


def _dynamo_packed(data: Any, path: Path, constraint: Any) -> tuple[Any, bool]:
    """A required level as `packDomain`. Dynamo has no preferred level other than the required one."""
    level, wish = required(constraint), preferred(constraint)
    if not level:
        return data, True
    beta = isinstance(get(data, "spec", "components"), list)
    key = "clusterTopologyName" if beta else "topologyProfile"
    data = put(data, ("spec", CONSTRAINT, key), text(constraint, "topologyName"))
    return put(data, (*path, "packDomain"), level), wish not in ("", level)


def _dynamo_containers(one: Object, data: Any, path: Path, before: Any, after: Any) -> tuple[Any, bool]:
    """Containers with new claims. v1alpha1 has those of the main container in `resources` of the service."""
    at = place(one, path)
    if "components" in at:
        return put(data, at, after), False
    claims = get(after, 0, "resources", "claims")
    if claims == get(before, 0, "resources", "claims"):
        return data, True
    data = put(data, (*at[: at.index("services") + 2], "resources", "claims"), claims)
    return data, put(before, (0, "resources", "claims"), claims) != after


def _constraint_place(one: Object, key: str | int, graph: bool) -> Path:
    if not graph:
        return next((path for cell, path, _ in _constraints(one.data) if cell[-1] == key), ())
    if key == CONSTRAINT:
        return ("spec", CONSTRAINT)
    word, _, called = str(key).partition("/")
    parts = (part for part in components(one.data) if called in (part.name, *(role for role, _ in part.roles)))
    return next(((*part.path, CONSTRAINT) for part in parts), ()) if word in ("group", "clique") else ()


def located(finding: Diagnostic, found: Mapping[Route, Object]) -> Diagnostic:
    """The diagnostic with its places in the objects themselves. `found`: those of Grove, by their routes."""
    notes = tuple(each._replace(route=real(each.route, found)) for each in finding.notes)
    return finding._replace(route=real(finding.route, found), notes=notes)


def real(route: Route, found: Mapping[Route, Object]) -> Route:
    """The place in the object itself of a place in the opened one."""
    for length in range(1, len(route) + 1):
        if one := found.get(route[:length]):
            return (*one.route, *place(one, route[length:]))
    return route


# What Grove makes of it: PodCliques, and with KAI a PodGroup for each PodGang.


def domains(topology_name: str, objects: Sequence[Object], topology: ClusterTopology) -> Mapping[str, str]:
    """Domain -> node label, coarse to fine: of the binding of that name, otherwise of the topology file's levels."""
    for one in objects:
        if (group(one), kind(one)) in BINDINGS and name(one) == topology_name:
            return {text(each, "domain"): text(each, "key") for each in items(one.data, "spec", "levels")}
    return {level.name: level.label for pool in topology.pools for level in (*pool.levels, HOST)}


def required(constraint: Any) -> str:
    """The required domain; `packDomain` is its name before v0.1.0-alpha.10 (podcliqueset.go, RequiredDomain)."""
    return text(constraint, "pack", "required") or text(constraint, "packDomain")


def preferred(constraint: Any) -> str:
    """The preferred domain."""
    return text(constraint, "pack", "preferred")


def topology_of(data: Any) -> str:
    """The only topology that the constraints of an opened object name (FindExplicitTopologyNameForPodCliqueSet)."""
    named = (text(get(data, *cell), "topologyName") for cell, _, _ in _constraints(data))
    return next(filter(None, named), "")


class Made(NamedTuple):
    """One PodClique.

    `base`: the gang of its replica of the set; `unit`: its scaling group with its number; `constraint`: of its gang.
    """

    base: str
    gang: str
    unit: str
    clique: Clique
    constraint: Any


def pod_cliques(one: Object, parts: Layout) -> Iterator[Made]:
    """The PodCliques of all gangs, called without the name of the set.

    Each replica of the set is a gang with its scaling groups up to `minAvailable`. Each further replica of a scaling
    group is a gang, with the constraint of its scaling group or else of the set.
    """
    data = opened(one).data
    for copy in range(parts.copies or 0):
        base = f"{name(one)}-{copy}" if (parts.copies or 0) > 1 else name(one)
        for clique in parts.cliques:
            if not clique.group:
                yield Made(base, base, "", clique, get(data, "spec", CONSTRAINT))
        for each in parts.groups:
            for number in range(each.replicas or 0):
                scaled = number >= (each.least or 0)
                own = get(data, "spec", group_key(each.name))
                gang = f"{base}-{each.name}-{number - (each.least or 0)}" if scaled else base
                whole = own or get(data, "spec", CONSTRAINT) if scaled else get(data, "spec", CONSTRAINT)
                for clique in parts.members(each):
                    yield Made(base, gang, "" if scaled else f"{each.name}-{number}", clique, whole)


def made(
    one: Object, objects: Sequence[Object], topology: ClusterTopology
) -> tuple[tuple[WorkloadTemplates, ...], tuple[Object, ...]]:
    """The PodCliques of an object, each with a pod template at the path of its clique, and the PodGroups for KAI.

    Grove's other schedulers have other objects, and kube-scheduler none.
    """
    view = opened(one)
    parts = layout(view.data)
    levels = domains(topology_of(view.data), objects, topology)
    groups: dict[str, list[Manifest]] = {}
    constraints: dict[str, Any] = {}
    workloads: list[WorkloadTemplates] = []
    channels: dict[str, None] = {}
    for each in pod_cliques(one, parts):
        template = mapping(view.data, *each.clique.path)
        own = get(view.data, "spec", clique_key(each.clique.name))
        unit, leaf = each.unit, "-".join(filter(None, (each.unit, each.clique.name)))
        inside = groups.setdefault(each.gang, [])
        constraints[each.gang] = each.constraint
        if unit and not any(one["name"] == unit for one in inside):
            around = get(view.data, "spec", group_key(each.clique.group))
            inside.append({"name": unit, **_kai(around, levels)})
        labels = {GANG_LABEL: each.gang, GROUP_LABEL: unit, POD_SET_LABEL: each.clique.name}
        if own:  # a level around one podSet
            inside.append({"name": leaf, **non_empty(parent=unit), **_kai(own, levels)})
            labels[GROUP_LABEL] = leaf
            unit, leaf = leaf, f"{leaf}-{each.clique.name}"
        inside.append({"name": leaf, **non_empty(parent=unit), "minMember": each.clique.least})
        kai = text(template, "spec", "schedulerName") == _kai_name(topology)
        marks = {"pod-group-name": each.gang} if kai else {}
        labels |= {"kai.scheduler/subgroup-name": leaf} if kai else {}
        kept = {key: own for key, own in mapping(template, "metadata", "labels").items() if key not in labels}
        metadata = {
            "labels": {**kept, **non_empty(**labels)},
            "annotations": {**mapping(template, "metadata", "annotations"), **marks},
        }
        pods: Mapping[str, Any] = {**template, "metadata": metadata}
        if channel := _channel(view, each, parts):
            pods = _with_channel(pods, channel)
            channels[channel] = None
        head = mapping(view.data, "metadata")
        labelled = {**head, "labels": {**mapping(head, "labels"), WORKFLOW_LABEL: name(one)}}
        cliques: list[Any] = [{}] * int(each.clique.path[-1]) + [pods]
        data = {**one.data, "metadata": labelled, "spec": {"template": {"cliques": cliques}}}
        only = TemplateSlot(each.clique.name, each.clique.path, each.clique.replicas or 0)
        workloads.append(WorkloadTemplates(KINDS[group(one), kind(one)], Object(one.route, data), (only,)))
    head = non_empty(namespace=text(one.data, "metadata", "namespace"))
    documents: list[Manifest] = [
        {
            "apiVersion": "scheduling.run.ai/v2alpha2",
            "kind": "PodGroup",
            "metadata": {**head, "name": gang},
            "spec": {**non_empty(queue=_queue(view)), **_kai(constraints[gang], levels), "subGroups": inside},
        }
        for gang, inside in groups.items()
    ]
    documents += [
        {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "ComputeDomain",
            "metadata": {**head, "name": channel},
            "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": channel}}},
        }
        for channel in channels
    ]
    return tuple(workloads), tuple(Object(one.route, each) for each in documents)


def _channel(view: Object, each: Made, parts: Layout) -> str:
    """The ComputeDomain that Grove makes for a clique in a replica (mnnvl, ResolveGroupNameHierarchically)."""
    around = next((group.path for group in parts.groups if group.name == each.clique.group), None)
    layers = (
        get(view.data, *each.clique.path, "metadata", "annotations", MNNVL),
        get(view.data, *around, "annotations", MNNVL) if around else None,
        get(view.data, "metadata", "annotations", MNNVL),
    )
    called = next((str(layer) for layer in layers if layer is not None), OPTED_OUT)
    return "" if called == OPTED_OUT else f"{each.base}-{called}"


def _with_channel(pods: Mapping[str, Any], channel: str) -> Mapping[str, Any]:
    """The pods with the claim that Grove adds to containers with GPUs (mnnvl/injection.go)."""
    containers = items(pods, "spec", "containers")
    if not any(get(each, "resources", key, GPU) for each in containers for key in ("limits", "requests")):
        return pods
    claims = [*items(pods, "spec", "resourceClaims"), {"name": "mnnvl-claim", "resourceClaimTemplateName": channel}]
    return {**pods, "spec": {**pods["spec"], "resourceClaims": claims}}


def _kai_name(topology: ClusterTopology) -> str:
    return topology.scheduler_name("kai", SCHEDULER)


def _queue(view: Object) -> str:
    """The queue of the set, otherwise of its cliques (kai/backend.go, resolveQueueNameForPodCliqueSet), or Dynamo's."""
    places = [view.data, *(mapping(view.data, *each.path) for each in layout(view.data).cliques)]
    words = ("labels", "annotations")
    default = DEFAULT_QUEUE if kind(view) == GRAPH[1] else ""
    return next(filter(None, (text(each, "metadata", word, QUEUE) for each in places for word in words)), default)


def _kai(constraint: Any, levels: Mapping[str, str]) -> dict[str, Any]:
    """A constraint in KAI's words. A domain that no level has stays as it is."""
    own = non_empty(
        requiredTopologyLevel=levels.get(required(constraint), required(constraint)),
        preferredTopologyLevel=levels.get(preferred(constraint), preferred(constraint)),
    )
    return non_empty(topologyConstraint=own)


# DynamoGraphDeployment: the components of a graph, as cliques.

LEADER, WORKER = "ldr", "wkr"


class Component(NamedTuple):
    """A component. `pods`: the place of its pod spec; `roles`: its cliques with the replicas of each."""

    name: str
    path: Path
    data: Mapping[str, Any]
    pods: Path
    roles: tuple[tuple[str, int], ...]
    nodes: int


def components(data: Any) -> Iterator[Component]:
    """The services of nvidia.com/v1alpha1, or the components of v1beta1 (graph.go, expandRolesForComponent)."""
    beta = isinstance(get(data, "spec", "components"), list)
    listed = items(data, "spec", "components")
    named = mapping(data, "spec", "services")
    rows: list[tuple[str, Path, Any]] = [
        (text(each, "name"), ("components", number), each) for number, each in enumerate(listed)
    ]
    for called, at, each in rows if beta else [(str(key), ("services", key), each) for key, each in named.items()]:
        path: Path = ("spec", *at)
        own = called.lower()
        nodes = max(1, number_in(each, "multinode", "nodeCount") or 1)
        roles = ((f"{own}-{LEADER}", 1), (f"{own}-{WORKER}", nodes - 1))
        alone = ((own, _number(each, 1, "replicas") or 0),)
        pods = (*path, "podTemplate", "spec") if beta else (*path, "extraPodSpec")
        yield Component(own, path, mapping(each), pods, roles if nodes > 1 else alone, nodes)


def of_dynamo(one: Object) -> Manifest:
    """The PodCliqueSet that Dynamo's operator makes, under the kind and the name of the graph.

    bayplan takes it that the operator uses KAI, which it then names in pods that name no scheduler.
    """
    spec = mapping(one.data, "spec")
    cliques: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    whole = get(spec, CONSTRAINT)
    called = text(whole, "topologyProfile") or text(whole, "clusterTopologyName")
    queue = non_empty(**{QUEUE: text(one.data, "metadata", "annotations", DYNAMO_QUEUE).strip()})
    for each in components(one.data):
        own = _packed(get(each.data, CONSTRAINT), called)
        for role, replicas in each.roles:
            least = replicas if each.nodes > 1 else _number(each.data, 1, "minAvailable")
            pods = _pod_spec(each)
            labels = {**_pod_labels(each), **(queue if text(pods, "schedulerName") == SCHEDULER else {})}
            clique: dict[str, Any] = {
                "name": role,
                **non_empty(labels=labels, topologyConstraint=own if each.nodes == 1 else None),
            }
            clique |= {"spec": {"roleName": role, "replicas": replicas, "minAvailable": least, "podSpec": pods}}
            cliques += [clique] if replicas else []
        if each.nodes > 1:
            counts = {key: _number(each.data, 1, key) for key in ("replicas", "minAvailable")}
            names = [role for role, _ in each.roles]
            groups.append({"name": each.name, "cliqueNames": names, **counts, **non_empty(topologyConstraint=own)})
    template: dict[str, Any] = {"cliques": cliques, **non_empty(podCliqueScalingGroups=groups)}
    template |= non_empty(topologyConstraint=_packed(whole, called))
    return {**one.data, "spec": {"replicas": 1, "template": template}}


def _packed(constraint: Any, topology: str) -> dict[str, Any]:
    """Dynamo's `packDomain` as a required domain (grove.go, groveTopologyConstraint)."""
    domain = text(constraint, "packDomain")
    return {**non_empty(topologyName=topology), "pack": {"required": domain}} if domain else {}


def _pod_labels(part: Component) -> Mapping[str, Any]:
    return mapping(part.data, *("podTemplate", "metadata") if "components" in part.path else (), "labels")


def _pod_spec(part: Component) -> dict[str, Any]:
    """The parts of the pod spec that the scheduler reads."""
    if "components" in part.path:
        spec = mapping(part.data, "podTemplate", "spec")
        return {"schedulerName": SCHEDULER, **spec, "containers": list(items(spec, "containers")) or [{"name": "main"}]}
    extra = mapping(part.data, "extraPodSpec")
    main = {"name": "main", **mapping(extra, "mainContainer")}
    resources = _resources(mapping(part.data, "resources"))
    main |= non_empty(resources={**mapping(main, "resources"), **resources})
    rest = {key: each for key, each in extra.items() if key not in ("mainContainer", "containers")}
    return {"schedulerName": SCHEDULER, **rest, "containers": [main, *items(extra, "containers")]}


def _resources(own: Mapping[str, Any]) -> dict[str, Any]:
    """`gpu`, `gpuType` and `custom` as Kubernetes' resources (controller_common/resource.go)."""
    found: dict[str, Any] = {}
    for key in ("requests", "limits"):
        part = mapping(own, key)
        gpus = {text(part, "gpuType") or "nvidia.com/gpu": part["gpu"]} if part.get("gpu") else {}
        amounts = {**{each: part[each] for each in ("cpu", "memory") if part.get(each)}, **gpus}
        found |= non_empty(**{key: {**amounts, **mapping(part, "custom")}})
    return {**found, **non_empty(claims=list(items(own, "claims")))}


def _dynamo_constraint(one: Object, path: Path) -> Path:
    """The component of a constraint in the PodCliqueSet; the graph for that of the set."""
    parts = [part for part in components(one.data) for _, replicas in part.roles if replicas]
    several = [part for part in components(one.data) if part.nodes > 1]
    rows = several if path[: len(GROUPS)] == GROUPS else parts if path[: len(CLIQUES)] == CLIQUES else ()
    return next((part.path for number, part in enumerate(rows) if number == path[len(CLIQUES)]), ("spec",))


def _dynamo_place(one: Object, number: int, rest: Path) -> Path:
    parts = [part for part in components(one.data) for _, replicas in part.roles if replicas]
    if number >= len(parts):
        return ("spec",)
    part = parts[number]
    if rest[:3] == ("spec", "containers", 0) and "services" in part.path:
        inner = rest[3:]
        in_own = inner[:1] == ("resources",) and mapping(part.data, "resources")
        return (*part.path, *inner) if in_own else (*part.pods, "mainContainer", *inner)
    if rest[:1] == ("spec",):
        return (*part.pods, *rest[1:])
    if rest[:1] == ("metadata",):
        return (*part.pods[:-1], *rest) if "components" in part.path else (*part.path, *rest[1:])
    return part.path
