"""A case as KAI sees it, in the form of its snapshot plugin (KAI docs/plugins/snapshot.md), and what KAI bound."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bayplan.backends.kai import prove
from bayplan.backends.kai.pod_group import POD_GROUP
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods, walk
from bayplan.model.target import Target
from bayplan.report.codes import sections
from e2e.compare import by_pod_set, is_apart
from e2e.mutations import count, level, preference, requests
from e2e.nodes import classes, slices
from e2e.others import OTHERS, others, pods
from e2e.pods import Member, config_maps, members, without_claims
from e2e.scene import Scene, Stage
from e2e.scheduler import (
    UNFIT,
    BrokenError,
    Case,
    Documents,
    Mutation,
    Object,
    Release,
    Scheduler,
    World,
    counted,
    edited,
    removed,
    stored,
)

BOUND = re.compile(r"Creating bind request for task <[^/>]*/([^>]+)> to node <([^>]+)>")
VERBOSITY = 3
"""The lowest at which the tool tells of bind requests (KAI pkg/scheduler/cache/cache.go)."""

TRIED = "After allocated Task"
TALKATIVE = 5
"""The verbosity at which the tool tells of pods that it puts on a node for a try (KAI framework/statement.go)."""

PARENT = "everyone"

PLUGINS = (
    "predicates",
    "proportion",
    "priority",
    "nodeavailability",
    "resourcetype",
    "podaffinity",
    "elastic",
    "kubeflow",
    "ray",
    "subgrouporder",
    "taskorder",
    "nominatednode",
    "dynamicresources",
    "minruntime",
    "topology",
    "gpupack",
    "nodeplacement",
    "gpusharingorder",
)
"""What KAI's operator turns on (pkg/operator/operands/scheduler, since 0.13 pkg/apis/kai/v1/schedulingshard_types)."""

SINCE_0_16 = ("sg-nodelocalgreedy", "sg-multinodegang")
"""What it turns on as well since 0.16, before "gpupack"."""

PLACEMENT = {"cpu": "binpack", "gpu": "binpack"}
UNLIMITED = {each: {"quota": -1, "limit": -1, "overQuotaWeight": 1} for each in ("gpu", "cpu", "memory")}
EMPTY = ("bindRequests", "persistentVolumeClaims", "csiStorageCapacities", "storageClasses", "csiDrivers")
PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""The priority classes that KAI's chart brings."""


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node, for those too that run already."""
    bodies = {each.name: each.body["spec"] for each in world.members}
    running = {name: spec["nodeName"] for name, spec in bodies.items() if "nodeName" in spec}
    return {**running, **replay(release, snapshot(world, release)).bindings}


class Replay(NamedTuple):
    """What the scheduler did in one session."""

    bindings: dict[str, str]  # pod -> node
    log: str


def replay(release: Release, content: Object, verbosity: int = VERBOSITY, seconds: int = 120) -> Replay:
    """One scheduling session over the snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.zip"
        write(path, content)
        command = [str(release.program), "--filename", str(path), "--verbosity", str(verbosity)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    log = done.stdout + done.stderr
    if done.returncode or "panic:" in log or "Failed to create" in log:
        raise BrokenError(f"{release.program.name} ended with {done.returncode}:\n{log[-4000:]}")
    return Replay(dict(BOUND.findall(log)), log)


def write(path: Path, content: Object) -> None:
    """As the zip that the tool reads."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("snapshot.json", json.dumps(content))


def old(release: Release) -> bool:
    """Whether the release is 0.12, of which two things are special.

    Its tool does not give the snapshot's API discovery to the scheduler, without which DRA stays off (KAI
    cmd/snapshot-tool/main.go), and its scheduler passes over queues without a parent (KAI
    pkg/scheduler/actions/utils/job_order_by_queue.go).
    """
    return release.version.startswith("0.12.")


def snapshot(world: World, release: Release) -> Object:
    """All that the scheduler sees. Only PodGroups of the members are in it."""
    groups = {each.body["metadata"].get("annotations", {}).get(POD_GROUP, "") for each in world.members}
    raw = {
        "nodes": list(world.nodes),
        "queues": [*_queues(world, release), *_named(world.documents, "Queue")],
        "topologies": _named(world.documents, "Topology"),
        "configMaps": _config_maps(world.members),
        "podGroups": [
            *(each for each in _named(world.documents, "PodGroup") if each["metadata"]["name"] in groups),
            *(_group_of_others(each) for each in others(world) if not _is_daemon(each)),
        ],
        "priorityClasses": [_priority(name, value) for name, value in PRIORITIES.items()],
        **_pods(world, release),
        **{each: [] for each in EMPTY},
    }
    return {"config": _config(release), "schedulerParams": _parameters(), "rawObjects": raw, **_discovery(release)}


def _pods(world: World, release: Release) -> Object:
    pairs = pods(world, _of_others)
    if old(release):
        found = [without_claims(pod) for pod, _ in pairs]
        return {"pods": found, "resourceClaims": [], "resourceSlices": [], "deviceClasses": []}
    return {
        "pods": [pod for pod, _ in pairs],
        "resourceClaims": [claim for _, claims in pairs for claim in claims],
        "resourceSlices": list(slices(world.topology)),
        "deviceClasses": list(classes(world.topology)),
    }


def _named(documents: Documents, kind: str) -> list[Object]:
    return [stored(each) for each in documents if each["kind"] == kind]


def _config_maps(chosen: Iterable[Member]) -> list[Object]:
    """All that pods name: KAI keeps pods waiting for those that are missing (KAI predicates/config_maps)."""
    found = sorted({(each.body["metadata"]["namespace"], name) for each in chosen for name in config_maps(each.body)})
    places = [{"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"} for namespace, name in found]
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": place} for place in places]


def _queues(world: World, release: Release) -> list[Object]:
    """The queue of others if there are any, and the parent that the rendered queues name."""
    parent = {"parentQueue": PARENT} if old(release) else {}
    return [*([_queue(OTHERS, **parent)] if others(world) else []), *([_queue(PARENT)] if parent else [])]


def _queue(name: str, **spec: str) -> Object:
    place = {"name": name, "uid": name}
    head = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": place}
    return {**head, "spec": {"resources": UNLIMITED, **spec}}


def _is_daemon(pod: Object) -> bool:
    """Whether another scheduler has bound the pod."""
    return bool(pod["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet")


def _of_others(pod: Object) -> Object:
    if _is_daemon(pod):
        return pod
    marks = {"annotations": {POD_GROUP: pod["metadata"]["name"]}, "labels": {"kai.scheduler/queue": OTHERS}}
    spec = {"schedulerName": "kai-scheduler", **pod["spec"]}
    return {**pod, "metadata": {**pod["metadata"], **marks}, "spec": spec}


def _group_of_others(pod: Object) -> Object:
    """KAI takes nothing from a PodGroup that is not preemptible."""
    place = {key: pod["metadata"][key] for key in ("name", "namespace")}
    spec = {"minMember": 1, "queue": OTHERS, "priorityClassName": "build"}
    return stored({"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": place, "spec": spec})


def _priority(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "uid": name},
        "value": value,
    }


def _version(release: Release) -> tuple[int, ...]:
    return tuple(map(int, release.version.split(".")[:2]))


def _config(release: Release) -> Object:
    newer = SINCE_0_16 if _version(release) >= (0, 16) else ()
    before = PLUGINS.index("gpupack")
    names = (*PLUGINS[:before], *newer, *PLUGINS[before:])
    plugins = [{"name": name, **({"arguments": PLACEMENT} if name == "nodeplacement" else {})} for name in names]
    return {"actions": "allocate, consolidation, reclaim, preempt, stalegangeviction", "tiers": [{"plugins": plugins}]}


def _parameters() -> Object:
    return {
        "schedulerName": "kai-scheduler",
        "partitionParams": {},
        "numOfStatusRecordingWorkers": 1,
        "fullHierarchyFairness": True,
        "detailedFitErrors": True,
        "useSchedulingSignatures": True,
        "maxNumberConsolidationPreemptees": 16,
        "queueLabelKey": "kai.scheduler/queue",
    }


def _discovery(release: Release) -> Object:
    """What turns DRA on (KAI pkg/common/feature_gates)."""
    if old(release):
        return {}
    resources = [{"name": "resourceclaims", "kind": "ResourceClaim", "namespaced": True, "verbs": ["list"]}]
    groups = [{"groupVersion": "resource.k8s.io/v1", "resources": resources}]
    return {"discovery": {"serverVersion": {"major": "1", "minor": "34"}, "resources": groups}}


def _crowded(made: Scene, stage: Stage, release: Release) -> bool:
    """Whether KAI meets each preferred level of the stage for a unit that is alone, or packs its pods badly there.

    Inside a unit with a level, it may not: KAI takes the first domain of the outer level that has room, without a look
    at preferences inside (KAI actions/common/allocate.go, allocateSubGroupSet).
    """
    units = ((gang, unit) for gang in stage.gangs for unit in _outermost(gang.root) if unit.route in stage.wishes)
    for gang, unit in units:
        documents, chosen = _alone(made, gang, unit)
        alone = made.world(documents, chosen)
        if is_apart(gang, unit, made.plan.topology, by_pod_set(chosen, bind(alone, release))):
            insisting = alone._replace(documents=edited(documents, "PodGroup ** topologyConstraint", _insisting))
            if TRIED not in replay(release, snapshot(insisting, release), TALKATIVE).log:
                return False
    return True


def _insisting(constraint: Mapping[str, str]) -> Object:
    """The preferred level as the required one."""
    required = constraint.get("preferredTopologyLevel", constraint.get("requiredTopologyLevel"))
    return {"topology": constraint["topology"], "requiredTopologyLevel": required}


def _outermost(unit: Unit) -> Iterator[Unit]:
    """The units with a level that are in no other one."""
    if unit.required or unit.preferred:
        yield unit
        return
    yield from (each for units in unit.groups for member in units.members for each in _outermost(member))


def _alone(made: Scene, gang: GangPlan, unit: Unit) -> tuple[Documents, list[Member]]:
    """The manifests with nothing of the gang but this unit, in the groups around it."""
    names = {pods.name for pods in all_pods(unit)}
    chosen = [each for each in members(made.documents) if each.gang == gang.name and each.pods in names]
    group = chosen[0].body["metadata"]["annotations"][POD_GROUP]
    kept = {name for each in walk(unit) for name in (each.name, *(pods.name for pods in each.pods)) if name}
    documents = [
        _cut(each, kept) if each["kind"] == "PodGroup" and each["metadata"]["name"] == group and unit.name else each
        for each in made.documents
    ]
    return documents, chosen


def _cut(group: Mapping[str, Any], kept: set[str]) -> dict[str, Any]:
    """The PodGroup with the kept subgroups, and those that they are in. What starts is what is left."""
    known = {each["name"]: each for each in group["spec"].get("subGroups", ())}
    wanted = {name for each in kept & set(known) for name in _up(known, each)}
    left = [each for name, each in known.items() if name in wanted]
    return {**group, "spec": {**group["spec"], "subGroups": left}}


def _up(known: Mapping[str, Mapping[str, Any]], name: str) -> Iterator[str]:
    yield name
    if parent := known[name].get("parent"):
        yield from _up(known, parent)


def _fitted(case: Case, release: Release) -> Case:
    """With a parent for the queues, and with counted devices, for the release that needs it.

    KAI below 0.14 does not add up the sidecars of running pods, so others have none.
    """
    if _version(release) < (0, 14):
        plain = (each._replace(form="plain") if each.form == "sidecar" else each for each in case.others)
        case = case._replace(others=tuple(plain))
    if not old(release):
        return case
    spec = counted(case).topology["spec"]
    kai = {**spec.get("schedulers", {}).get("kai", {}), "parentQueue": PARENT}
    schedulers = {**spec.get("schedulers", {}), "kai": kai}
    return counted(case)._replace(topology={**case.topology, "spec": {**spec, "schedulers": schedulers}})


def _firm(release: Release) -> frozenset[str]:
    """Since 0.15 KAI does place optional groups outside their required level."""
    return frozenset({"F604"}) if _version(release) >= (0, 15) else frozenset()


def _seen(plan: Plan, release: Release) -> Plan:
    """Without channels for the release that does not see claims."""
    if not old(release):
        return plan
    return plan._replace(gangs=tuple(gang._replace(root=_unclaimed(gang.root)) for gang in plan.gangs))


def _unclaimed(unit: Unit) -> Unit:
    groups = (units._replace(members=tuple(map(_unclaimed, units.members))) for units in unit.groups)
    pods = (pods._replace(compute_domain="") for pods in unit.pods)
    return unit._replace(groups=tuple(groups), pods=tuple(pods))


def _known(plan: Plan, target: Target) -> Iterable[Diagnostic]:
    return prove(plan, target)


GROUP = "PodGroup spec topologyConstraint"
SUBGROUP = "PodGroup spec subGroups * topologyConstraint"

KAI = Scheduler(
    "kai",
    bind,
    constraints=(GROUP, SUBGROUP),
    mutations=(
        *level("required level of the gang", f"{GROUP} requiredTopologyLevel"),
        *level("required level of a group", f"{SUBGROUP} requiredTopologyLevel"),
        *preference("preferred level of the gang", f"{GROUP} preferredTopologyLevel"),
        *preference("preferred level of a group", f"{SUBGROUP} preferredTopologyLevel"),
        Mutation("no constraint of the gang", GROUP, removed),
        Mutation("no constraint of a group", SUBGROUP, removed),
        Mutation("no Topology of the gang", f"{GROUP} topology", removed),
        Mutation("no Topology of a group", f"{SUBGROUP} topology", removed),
        *count("minMember", "PodGroup spec minMember"),
        *count("minMember of a subgroup", "PodGroup spec subGroups * minMember"),
        Mutation("no parent", "PodGroup spec subGroups * parent", removed),
        *requests(),
    ),
    seeds=(0, 1, 2, 5, 6, 7, 9, 10, 11, 12, 14, 16, 23),
    accepted=UNFIT | {code for code in sections() if code[0] == "F"},  # the podgrouper has no part in the replay
    firm=_firm,
    fitted=_fitted,
    seen=_seen,
    known=_known,
    crowded=_crowded,
    doubts=frozenset({"F690"}),
    breaks=frozenset({"F604"}),
)
