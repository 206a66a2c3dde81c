"""What bayplan writes for Koordinator, put to Koordinator's own planner: gangs and groups land as the plan says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import koordinator_planner as planner
import support
from bayplan.model.plan import Unit, all_pods, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from tools.effort import examples

SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
LEVELS = ["zone", "spine", "rack"]
LABELS = [f"example.com/{level}" for level in LEVELS]
UNFIT = {"P551", "P552", "P506", "P554", "P559"}


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, Any]:
    """Zones of spines of racks of nodes with four GPUs, all of different size, some nodes unusable."""
    domains, names = [], []
    for zone in range(draw(st.integers(1, 2))):
        for spine in range(draw(st.integers(1, 3))):
            for rack in range(draw(st.integers(1, 3))):
                count = draw(st.integers(2, 7))
                nodes = [f"n{zone}{spine}{rack}{number}" for number in range(count)]
                domains.append({"path": f"z{zone}/s{zone}{spine}/r{zone}{spine}{rack}", "nodes": ",".join(nodes)})
                names += nodes
    broken = [name for name in names if draw(st.integers(0, 7)) == 0]
    levels = [{"name": name, "label": label} for name, label in zip(LEVELS, LABELS, strict=True)]
    node = {"accelerator": "h100", "count": 4, "cpu": "140", "memory": "900Gi"}
    pool: dict[str, Any] = {"name": "h100", "node": node, "levels": levels, "domains": domains}
    if broken:
        pool["unusable"] = {"cordoned": ",".join(broken)}
    head = {key: support.TOPOLOGY[key] for key in ("apiVersion", "kind", "metadata")}
    kinds = {"h100": {"vendor": "nvidia", "allocator": "device-plugin"}}
    versions = {"kubernetes": "1.34", "koordinator": "1.8", "jobset": "0.12"}
    return {**head, "spec": {"versions": versions, "pools": [pool], "accelerators": kinds}}


@st.composite
def gangs(draw: st.DrawFn) -> dict[str, Any]:
    """Groups of one kind in each other, each with a level or none, the finest inside."""
    gpus = draw(st.sampled_from([1, 1, 2, 4]))
    names = draw(st.lists(st.sampled_from(["w", "a", "zz", "b-0"]), min_size=1, max_size=2, unique=True))
    worker = {"image": "x", "command": ["run"], "accelerator": {"count": gpus}}
    node: dict[str, Any] = {"podSets": [{**worker, "name": n, "replicas": draw(st.integers(1, 3))} for n in names]}
    groups = draw(st.sampled_from([[], ["g"], ["g"], ["in", "g-1"], ["in", "g-1"], ["x", "y", "z"]]))
    levels = sorted(draw(st.lists(st.integers(0, 3), min_size=4, max_size=4, unique=True)), reverse=True)
    for name, level in zip(groups, levels, strict=False):
        required = {"placement": {"required": [*LEVELS, "host"][level]}} if draw(st.integers(0, 3)) else {}
        replicas = draw(st.integers(1, 4 if len(groups) == 1 else 3))
        node = {"groups": [{**node, **required, "name": name, "replicas": replicas}]}
    word = draw(st.sampled_from(["", "required", "preferred"]))
    placement = {"placement": {word: [*LEVELS, "host"][levels[len(groups)]]}} if word else {}
    return {"name": "train", **node, **placement, "workload": draw(st.sampled_from(["jobset", "job", "pods"]))}


def path_of(topology: ClusterTopology) -> dict[str, dict[str, str]]:
    """Node -> level -> domain."""
    return {
        node: {**dict(zip(LEVELS, domain.path, strict=True)), HOST_LEVEL: node}
        for pool in topology.pools
        for domain in pool.domains
        for node in domain.nodes
    }


def ask(result: support.Result, gpus: int, taken: dict[str, int] | None = None) -> dict[str, str] | None:
    """Pod name without its random end -> node; every node that is usable is free."""
    assert result.compiled
    topology = result.compiled.planned.plan.topology
    paths = path_of(topology)
    unusable = {node for pool in topology.pools for nodes in pool.unusable.values() for node in nodes}
    labels = {n: dict(zip(LABELS, [paths[n][level] for level in LEVELS], strict=True)) for n in paths}
    free = {node: (4 - (taken or {}).get(node, 0)) // gpus for node in paths if node not in unusable}
    (group,) = result.kinds("PodGroup")
    bare = bool(result.kinds("Pod"))
    names = [pod.name if bare else f"{pod.name}-x7kpq" for pod in support.pods(result.documents)]
    spec = group["metadata"]["annotations"].get(SPEC, '{"gatherStrategy":[]}')
    (cluster,) = result.kinds("ClusterNetworkTopology")
    found = planner.place(cluster, labels, free, spec, names)
    return found and {pod if bare else pod.removesuffix("-x7kpq"): node for pod, node in found.items()}


def apart(result: support.Result, placed: dict[str, str]) -> list[Unit]:
    """The units whose pods do not share a domain of the level that they require."""
    assert result.compiled
    plan = result.compiled.planned.plan
    paths = path_of(plan.topology)
    (gang,) = plan.gangs
    nodes = {  # podSet instance -> nodes of its pods
        pods.name: [node for pod, node in placed.items() if instance(pod, gang.name, pods.name)]
        for pods in all_pods(gang.root)
    }
    assert all(len(nodes[pods.name]) == pods.replicas for pods in all_pods(gang.root))
    found = []
    for unit in walk(gang.root):
        if unit.required:
            domains = {paths[node][unit.required] for pods in all_pods(unit) for node in nodes[pods.name]}
            found += [unit] if len(domains) > 1 else []
    return found


def instance(pod: str, gang: str, name: str) -> bool:
    """Whether the pod is one of that podSet instance, whatever kind it was made by."""
    stem, _, number = pod.rpartition("-")
    return number.isdigit() and stem in (f"{gang}-{name}", f"{gang}-{name}-0")


@settings(max_examples=examples(20, 150), deadline=None, suppress_health_check=list(HealthCheck))
@given(gang=gangs(), topology=topologies(), data=st.data())
def test_koordinator_places_what_is_proven_and_as_it_is_planned(
    gang: dict[str, Any], topology: dict[str, Any], data: st.DataObject
) -> None:
    result = support.run(support.workflow(gang), topology, scheduler="koordinator", cluster_objects=True)
    assume(not set(result.codes) & {*UNFIT, "W315", "F665", "W301"})
    assume(result.compiled)
    gpus = pods_of(gang)[0]["accelerator"]["count"]
    placed = ask(result, gpus)
    assert placed is not None
    assert apart(result, placed) == []
    busy = {node: data.draw(st.integers(0, 4)) for node in sorted(set(placed.values()))}
    elsewhere = ask(result, gpus, busy)
    assert elsewhere is None or apart(result, elsewhere) == []


def pods_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The podSets of a gang."""
    return list(node.get("podSets", ())) + [each for group in node.get("groups", ()) for each in pods_of(group)]


RACKS = {**support.TOPOLOGY["spec"]["pools"][0], "levels": support.TOPOLOGY["spec"]["pools"][0]["levels"]}
"""Racks of 18 nodes."""


def test_without_a_multiple_groups_of_16_straddle_racks_of_18() -> None:
    """Why two levels need Koordinator 1.8."""
    domains = [{"path": f"z/s/r{rack}", "nodes": f"n{rack}-[01-18]"} for rack in range(4)]
    levels = [{"name": name, "label": label} for name, label in zip(LEVELS, LABELS, strict=True)]
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": [{**RACKS, "domains": domains}]}}
    topology["spec"]["pools"][0]["levels"] = levels
    new, old = (
        support.run(
            support.workflow(support.pretrain()),
            topology,
            scheduler="koordinator",
            cluster_objects=True,
            target={"koordinator": version},
            accept=frozenset({"F631"}),
        )
        for version in ("1.8", "1.7")
    )
    assert "F631" in old.codes
    assert old.compiled is not None
    assert apart(new, ask(new, 4) or {}) == []
    assert len(apart(old, ask(old, 4) or {})) == 3


@pytest.mark.parametrize("kind", ["jobset", "job", "pods"])
def test_eleven_groups_stay_whole(kind: str) -> None:
    """replica-10 sorts before replica-2, and its eleven pods 0, 1, 10, 2 too; each group stays in its rack."""
    replica = {"name": "r", "replicas": 11, "placement": {"required": "rack"}}
    worker = {"name": "w", "replicas": 11, "image": "x", "command": ["run"], "accelerator": {"count": 4}}
    gang = {"name": "train", "workload": kind, "groups": [{**replica, "podSets": [worker]}]}
    domains = [{"path": f"z/s{rack // 4}/r{rack}", "nodes": f"n{rack}-[01-{12 + rack % 3}]"} for rack in range(12)]
    levels = [{"name": name, "label": label} for name, label in zip(LEVELS, LABELS, strict=True)]
    pool = {**support.TOPOLOGY["spec"]["pools"][0], "levels": levels, "domains": domains}
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "pools": [pool]}}
    result = support.run(support.workflow(gang), topology, scheduler="koordinator", cluster_objects=True)
    assert result.compiled, result.diagnostics
    assert apart(result, ask(result, 4) or {}) == []


def test_the_spec_is_json_without_a_blank() -> None:
    gang = {**support.pretrain(), "workload": "pods"}
    topology = json.loads(json.dumps(support.TOPOLOGY).replace('"nvlink": true', '"nvlink": false'))
    result = support.run(support.workflow(gang), topology, scheduler="koordinator")
    (group,) = result.kinds("PodGroup")
    assert group["metadata"]["annotations"][SPEC] == (
        '{"gatherStrategy":[{"layer":"SpineLayer","strategy":"MustGather"},'
        '{"layer":"RackLayer","strategy":"PreferGather","podCountMultiple":16}]}'
    )
