"""A case as koord-scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from e2e.mutations import count, requests
from e2e.nodes import classes, slices
from e2e.others import pods, unended
from e2e.scheduler import Change, Mutation, Object, Release, Scheduler, World, ask, removed, stored

API_VERSION = "kubescheduler.config.k8s.io/v1"
ARGUMENTS = {"apiVersion": API_VERSION, "kind": "CoschedulingArgs", "awareNetworkTopology": True}
POINTS = ("preEnqueue", "preFilter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "postBind")
PROFILE = {
    "schedulerName": "koord-scheduler",
    "pluginConfig": [{"name": "Coscheduling", "args": ARGUMENTS}],
    "plugins": {point: {"enabled": [{"name": "Coscheduling"}]} for point in POINTS},
}
CONFIGURATION = json.dumps({"apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration", "profiles": [PROFILE]})
"""Koordinator's own, with the setting that bayplan requires (F689), and without plugins that need other objects."""

GROUPS = frozenset({"PodGroup", "ClusterNetworkTopology"})


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node."""
    # `manager` is the flag --enable-network-topology-manager.
    case = {"configuration": CONFIGURATION, "manager": True, "objects": list(_objects(world))}
    found: dict[str, str] = ask(release.program, case)["bindings"]
    return found


def _objects(world: World) -> Iterator[Object]:
    yield from (*world.nodes, *classes(world.topology), *slices(world.topology))
    yield from (stored(each) for each in world.documents if each["kind"] in GROUPS)
    for pod, claims in pods(unended(world), lambda pod: pod):
        yield from (*claims, pod)


SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
RULES = f"PodGroup metadata annotations {SPEC}"


def _rules(change: Change) -> Change:
    """The annotation with every rule changed."""

    def changed(text: str) -> str:
        return json.dumps({"gatherStrategy": [change(dict(rule)) for rule in json.loads(text)["gatherStrategy"]]})

    return changed


def _one_more(rule: Object) -> Object:
    return {**rule, "podCountMultiple": rule["podCountMultiple"] + 1} if "podCountMultiple" in rule else rule


KOORDINATOR = Scheduler(
    "koordinator",
    bind,
    constraints=(RULES,),
    mutations=(
        Mutation("no network-topology-spec", RULES, removed),
        Mutation("PreferGather for MustGather", RULES, _rules(lambda rule: {**rule, "strategy": "PreferGather"})),
        Mutation("podCountMultiple + 1", RULES, _rules(_one_more)),
        *count("minMember", "PodGroup spec minMember"),
        *requests(),
    ),
    seeds=(10, 83, 100_001, 100_008, 100_056),
    doubts=frozenset({"F690"}),
    runs=3,  # koord-scheduler takes any of equal nodes, and the pods of a gang in any order
)
