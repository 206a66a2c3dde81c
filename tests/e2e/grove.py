"""PodCliqueSets on KAI: Grove's own code makes the pods, KAI's podgrouper the PodGroups, and KAI starts what it can.

Grove lets the pods of a replica beyond the minimum go once all pods that the others need have nodes, so each stage has
two sessions of KAI.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL
from e2e import random_cases
from e2e.kai import KAI
from e2e.kai import bind as bind_pods
from e2e.pods import Folded, Member, mounted
from e2e.scheduler import UNFIT, Case, Documents, Object, Release, World
from e2e.workloads import GROVE, Grouped, Made, grouped, made, resumed

PREFIX = "grove.io/"
SESSIONS = 2


class RefusedByGroveError(Exception):
    """Grove's webhooks do not take what bayplan rendered."""


@lru_cache(maxsize=8)
def _made(text: str) -> tuple[Made, Grouped]:
    found = made(json.loads(text), GROVE)
    if found.refused:
        raise RefusedByGroveError(found.refused)
    return found, _grouped(found)


def _grouped(found: Made) -> Grouped:
    marked = grouped(found)
    if marked.errors:
        raise RefusedByGroveError(marked.errors)
    return marked


def members(documents: Documents, folded: Folded | None = None) -> list[Member]:
    """The pods of all copies, by podSet instances of the plan."""
    pods = _made(json.dumps(documents))[1].pods
    sizes = Counter(_labels(pod)[f"{PREFIX}podclique"] for pod in pods)
    gangs = {gang for gang, _ in folded or {}}
    return [_member(pod, sizes[_labels(pod)[f"{PREFIX}podclique"]], gangs, folded or {}) for pod in pods]


def _member(pod: Object, size: int, gangs: set[str], folded: Folded) -> Member:
    labels = _labels(pod)
    copy = f"{labels[GANG_LABEL]}-{labels[f'{PREFIX}podcliqueset-replica-index']}"
    gang = copy if copy in gangs else labels[GANG_LABEL]
    template = "-".join(filter(None, (labels.get(GROUP_LABEL), labels[POD_SET_LABEL])))
    first = int(labels.get(f"{PREFIX}podcliquescalinggroup-replica-index", 0)) * size
    number = first + int(labels[f"{PREFIX}podclique-pod-index"])
    return Member(gang, folded.get((gang, template), {}).get(number, template), pod, template)


def _labels(pod: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = pod["metadata"]["labels"]
    return labels


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node. `members` may have pods of some gangs alone, and other node selectors than Grove gives them."""
    found, marked = _made(json.dumps(world.documents))
    asked = {each.name: each.body["spec"] for each in world.members}
    bound: dict[str, str] = {}
    for _ in range(SESSIONS):
        free = {each["metadata"]["name"]: each for each in marked.pods if not each["spec"].get("schedulingGates")}
        ready = [each._replace(body=_at(free[each.name], asked, bound)) for each in world.members if each.name in free]
        made_too = [each for each in found.objects if each["kind"] == "ComputeDomain"]
        documents = [*world.documents, *made_too, *marked.groups]
        bound = dict(bind_pods(world._replace(members=ready, documents=documents), release))
        pods = [_scheduled(each, bound) for each in found.pods]
        found = resumed([*found.objects, *pods], GROVE)
        marked = _grouped(found)
    return bound


def _at(pod: Object, asked: Mapping[str, Object], bound: Mapping[str, str]) -> Object:
    """The pod as KAI sees it: with the selector that the bench gives it, and on its node if it has one."""
    name = pod["metadata"]["name"]
    selector = {"nodeSelector": asked[name]["nodeSelector"]} if "nodeSelector" in asked[name] else {}
    node = {"nodeName": bound[name]} if name in bound else {}
    phase = "Running" if node else "Pending"
    spec = {**mounted(pod["spec"]), **selector, **node}
    return {**pod, "spec": spec, "status": {**pod["status"], "phase": phase}}


def _scheduled(pod: Object, bound: Mapping[str, str]) -> Object:
    if pod["metadata"]["name"] not in bound:
        return pod
    condition = {"type": "PodScheduled", "status": "True"}
    return {**pod, "status": {**pod["status"], "conditions": [condition]}}


def _versions(release: Release) -> dict[str, str]:
    return {"kai": release.version, "grove": "0.1", "kubernetes": "1.34"}


GROVE_ON_KAI = KAI._replace(
    bind=bind,
    members=members,
    versions=_versions,
    accepted=UNFIT | {"F690", "F641", "F631"},
    mutations=(),
    constraints=("PodCliqueSet ** topologyConstraint",),
    crowded=None,
    breaks=frozenset({"F604", "F631"}),
)


def case(seed: int) -> Case:
    """A random case with a PodCliqueSet for each gang. Grove makes the ComputeDomains in each other one."""
    found = random_cases.case(seed)
    spec = found.workflow["spec"]
    gangs = [{**each, "workload": "podcliqueset", "lifecycle": "service"} for each in spec["gangs"]]
    hall = {**found.topology["spec"], "schedulers": {"kai": {"groveComputeDomains": bool(seed % 2)}}}
    hall["versions"] = {**hall["versions"], "kai": "0.17", "grove": "0.1"}
    return found._replace(
        workflow={**found.workflow, "spec": {**spec, "gangs": gangs}}, topology={**found.topology, "spec": hall}
    )
