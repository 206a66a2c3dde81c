"""Random workflows on a cluster that is large enough for all of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

LEVELS = ["zone", "spine", "rack", "host"]

TOPOLOGY: dict[str, Any] = {
    "apiVersion": "bayplan.dev/v1alpha1",
    "kind": "ClusterTopology",
    "metadata": {"name": "hall"},
    "spec": {
        "versions": {"kubernetes": "1.34", "kai": "0.17", "draDriver": "25.12", "jobset": "0.12"},
        "defaults": {"scheduler": "kai", "queue": "research"},
        "pools": [
            {
                "name": "gb200",
                "node": {"accelerator": "gb200", "count": 4, "cpu": "140", "memory": "900Gi"},
                "levels": [
                    {"name": "zone", "label": "topology.kubernetes.io/zone"},
                    {"name": "spine", "label": "example.com/spine"},
                    {"name": "rack", "label": "nvidia.com/gpu.clique", "nvlink": True},
                ],
                "domains": [
                    {"path": f"z{z}/s{z}{s}/r{z}{s}{r}", "nodes": f"n{z}{s}{r}-[001-400]"}
                    for z in range(2)
                    for s in range(2)
                    for r in range(2)
                ],
            }
        ],
        "accelerators": {"gb200": {"vendor": "nvidia", "allocator": "device-plugin"}},
    },
}
"""8 racks of 400 nodes: more than any of the workflows below asks for."""

DRA = {"gb200": {"vendor": "nvidia", "allocator": "dra", "deviceClass": "gpu.nvidia.com"}}
topologies = st.sampled_from([TOPOLOGY, {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "accelerators": DRA}}])

names = st.sampled_from(["a", "b", "lead", "side", "replica", "x1"])


@st.composite
def pod_sets(draw: st.DrawFn, elastic: bool) -> list[dict[str, Any]]:
    made = []
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        replicas = draw(st.integers(1, 5))
        spec = {"name": name, "replicas": replicas, "image": "registry.example.com/x:1", "command": ["run", "@first@"]}
        if elastic and draw(st.booleans()):
            spec["minReplicas"] = draw(st.integers(1, replicas))
        if draw(st.booleans()):
            spec["accelerator"] = draw(st.sampled_from([{"name": "gb200", "count": 4}, {"count": 4}]))
        else:
            spec["resources"] = {"cpu": "2"}
        made.append(spec)
    return made


@st.composite
def placements(draw: st.DrawFn, floor: int) -> tuple[dict[str, Any], int]:
    """A placement with levels no coarser than the one outside, and the floor for what is inside."""
    options: dict[str, Any] = {}
    required = draw(st.none() | st.integers(floor, 2))
    if required is not None:
        options["required"] = LEVELS[required]
        floor = required
    preferred = draw(st.none() | st.integers(floor, 2))
    if preferred is not None and (required is None or preferred > required):
        options["preferred"] = LEVELS[preferred]
    return ({"placement": options} if options else {}), floor


@st.composite
def groups(draw: st.DrawFn, depth: int, floor: int, elastic: bool) -> list[dict[str, Any]]:
    made = []
    for name in draw(st.lists(names, min_size=1, max_size=2, unique=True)):
        placement, inner = draw(placements(floor))
        replicas = draw(st.integers(1, 3))
        group = {"name": name, "replicas": replicas, **placement, **draw(contents(depth - 1, inner, elastic))}
        if elastic and draw(st.booleans()):
            group["minReplicas"] = draw(st.integers(1, replicas))
        made.append({**draw(cut(group)), **draw(compute_domains(group, inner))})
    return made


def compute_domains(node: dict[str, Any], floor: int) -> st.SearchStrategy[dict[str, Any]]:
    """Where to make a ComputeDomain. To ask for one takes a required level with NVLink; `group` is for leaves."""
    asked = ["never", *(["gang"] if LEVELS[floor] == "rack" else [])]
    asked += ["group"] if LEVELS[floor] == "rack" and "podSets" in node else []
    return st.just({}) | st.sampled_from(asked).map(lambda word: {"computeDomain": word})


@st.composite
def cut(draw: st.DrawFn, group: dict[str, Any]) -> dict[str, Any]:
    """The group, or where it has one podSet with nothing left out, one that is cut into instances of some size."""
    sets = group.get("podSets", ())
    if len(sets) != 1 or {"minReplicas"} & {*group, *sets[0]} or draw(st.booleans()):
        return group
    size = draw(st.integers(1, 4))
    whole = {**sets[0], "replicas": size * group["replicas"]}
    return {**{key: value for key, value in group.items() if key != "replicas"}, "size": size, "podSets": [whole]}


def settings(draw: st.DrawFn) -> dict[str, Any]:
    """What a gang may say besides."""
    own = draw(st.sampled_from([{}, {"backends": {"kai": {"topology": "other"}}}]))
    return {**own, **draw(st.sampled_from([{}, {"preemptible": True}, {"preemptible": False}]))}


def contents(depth: int, floor: int, elastic: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Groups or podSets, never both."""
    leaves = pod_sets(elastic).map(lambda made: {"podSets": made})
    if depth == 0:
        return leaves
    return leaves | groups(depth, floor, elastic).map(lambda made: {"groups": made})


def hosts(gang: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """What every command asks for: the first pod of the first podSet instance."""
    name, node = "", gang
    while "groups" in node:
        node = node["groups"][0]
        name += f"{node['name']}-0-"
    return st.sampled_from([{}, {"hosts": {"@first@": name + node["podSets"][0]["name"]}}])


@st.composite
def workflows(draw: st.DrawFn, elastic: bool = False) -> dict[str, Any]:
    """One to two gangs of up to two levels of groups."""
    gangs = []
    for name in draw(st.lists(names, min_size=1, max_size=2, unique=True)):
        placement, floor = draw(placements(0))
        kind = draw(st.sampled_from(["auto", "jobset", "job", "pods"]))
        rendezvous = draw(st.sampled_from(["gang", "group", "none"]))
        options = {"name": name, "workload": kind, "rendezvous": rendezvous, "replicas": draw(st.integers(1, 2))}
        gang = {**options, **settings(draw), **placement, **draw(contents(2, floor, elastic))}
        gangs.append({**gang, **draw(compute_domains(gang, floor)), **draw(hosts(gang))})
    spec = {"queue": "research", "gangs": gangs}
    if draw(st.booleans()):
        spec["priorityClassName"] = "train"
    metadata = {"name": "wf", "namespace": "ml"}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}


@st.composite
def even(draw: st.DrawFn, elastic: bool = False) -> dict[str, Any]:
    """One gang of one podSet, whole or cut into equal groups, with levels that become finer: what most schedulers know.

    Each pod has a node of its own.
    """
    worker = {"name": "worker", "replicas": draw(st.integers(1, 5)), "accelerator": {"count": 4}}
    worker |= {"image": "registry.example.com/x:1", "command": ["run"], "resources": {"cpu": "8", "memory": "64Gi"}}
    outer = draw(st.sampled_from(["", "zone", "spine", "rack"]))
    inner = draw(st.sampled_from(["", *LEVELS[LEVELS.index(outer) if outer else 0 : 3]]))
    gang: dict[str, Any] = {"name": "train", "replicas": draw(st.sampled_from([1, 1, 2]))}
    gang["rendezvous"] = draw(st.sampled_from(["gang", "group", "none"]))
    if elastic and draw(st.booleans()):
        worker["minReplicas"] = draw(st.integers(1, worker["replicas"]))
    if draw(st.integers(0, 3)):
        group = {"name": "replica", "replicas": draw(st.integers(1, 4)), "podSets": [worker]}
        if elastic and draw(st.booleans()):
            group["minReplicas"] = draw(st.integers(1, group["replicas"]))
        gang["groups"] = [draw(cut({**group, **required(inner)}))]
    else:
        gang["podSets"] = [worker]
    metadata = {"name": "wf", "namespace": "ml"}
    spec = {"queue": "research", "gangs": [{**gang, **required(outer)}]}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}


def required(level: str) -> dict[str, Any]:
    """The placement of a gang or group; none for no level."""
    return {"placement": {"required": level}} if level else {}


FABRICS = ("hostdevice", "sriov", "spectrumx", "macvlan", "ipoib", "dranet", "efa", "gke", "hostnetwork", "none")


@st.composite
def fabrics(draw: st.DrawFn) -> dict[str, Any]:
    """A secondary network of up to eight rails, each with a resource of its own or all with the same."""
    kind, count = draw(st.sampled_from(FABRICS)), draw(st.sampled_from([1, 2, 8]))
    shared = draw(st.booleans())
    rails = [
        {
            "network": f"fabric/rail-{n}",
            "resource": "nvidia.com/hostdev" if shared else f"nvidia.com/rail_{n}",
            "device": f"ens{n}",
            "interface": f"ens{n}",
            "hca": f"mlx5_{n}",
        }
        for n in range(count)
    ]
    if kind == "efa":
        rails = [{"resource": "vpc.amazonaws.com/efa"}] * count
    of_kind = {"dranet": ("device",), "gke": ("network",), "hostnetwork": ("interface", "hca"), "none": ("resource",)}
    keys = of_kind.get(kind, ("network", "resource"))
    own = {"ipam": {"type": "whereabouts"}} if kind == "macvlan" else {}
    return {"kind": kind, **own, "rails": [{key: rail[key] for key in keys if key in rail} for rail in rails]}


def attached(draw: st.DrawFn, flow: dict[str, Any], fabric: str) -> dict[str, Any]:
    """The workflow with some podSets with accelerators on the fabric."""

    def inside(node: dict[str, Any]) -> dict[str, Any]:
        made = {**node}
        for key in ("gangs", "groups"):
            if key in node:
                made[key] = [inside(each) for each in node[key]]
        if "podSets" in node:
            made["podSets"] = [
                {**each, "fabric": fabric} if "accelerator" in each and draw(st.booleans()) else each
                for each in node["podSets"]
            ]
        return made

    return {**flow, "spec": inside(flow["spec"])}


@st.composite
def services(draw: st.DrawFn) -> dict[str, Any]:
    """One service of a few copies: a leader with workers, or equal pods that may be cut into groups."""

    def pods(name: str, replicas: int, cards: bool) -> dict[str, Any]:
        asked = {"accelerator": {"count": 4}} if cards else {"resources": {"cpu": "8", "memory": "64Gi"}}
        return {"name": name, "replicas": replicas, "image": "registry.example.com/x:1", "command": ["run"], **asked}

    outer = draw(st.sampled_from(["", "zone", "spine", "rack"]))
    gang: dict[str, Any] = {"name": "serve", "lifecycle": "service", "replicas": draw(st.integers(1, 3))}
    gang["rendezvous"] = draw(st.sampled_from(["gang", "gang", "group", "none"]))
    gang |= draw(st.sampled_from([{}, {}, {"rollout": {"surge": 1}}, {"autoscale": {"maxReplicas": 4}}]))
    gang |= draw(st.sampled_from([{}, {"preemptible": False}, {"computeDomain": "never"}]))
    shape = draw(st.sampled_from(["led", "led", "equal", "cut"]))
    if shape == "led":
        both = [pods("leader", 1, draw(st.booleans())), pods("worker", draw(st.integers(1, 4)), cards=True)]
        gang["podSets"] = both
    elif shape == "equal":
        gang["podSets"] = [pods("worker", draw(st.integers(2, 5)), cards=True)]
    else:
        size, inner = draw(st.integers(2, 3)), draw(st.sampled_from(LEVELS[LEVELS.index(outer or "zone") : 3]))
        whole = pods("worker", size * draw(st.integers(2, 3)), cards=True)
        gang["groups"] = [{"name": "part", "size": size, "podSets": [whole], **required(inner)}]
    if "autoscale" in gang:
        gang["replicas"] = 1
    spec = {"queue": "research", "gangs": [{**gang, **required(outer)}]}
    if draw(st.booleans()):
        spec["priorityClassName"] = "train"
    metadata = {"name": draw(st.sampled_from(["wf", "llm-7"])), "namespace": "ml"}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}
