"""Random workflows, topologies and targets for every scheduler. The same seed gives the same case.

A case is a sound core, drawn by hand-written rules, and further fields at random places: the schemas say which fields a
document could have, and which values they take. What bayplan refuses is removed, diagnostic by diagnostic, so that
most cases end as manifests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, NamedTuple

import all_backends
import support
import workflow_oracle
from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.target import KNOWN
from bayplan.text.document import Document
from bayplan.text.emit import emit
from e2e import random_cases
from tools.data import parse
from tools.run import ROOT

Data = dict[str, Any]
Path = tuple[str | int, ...]
IMAGE = "registry.example.com/x:1"
NAMES = ("a", "b", "a-b", "a-0", "0", "lead", "side", "replica", "worker", "x1", "w" * 12, "long-name-of-24-letters-x")
LEVELS = (
    (("zone", "topology.kubernetes.io/zone"), ("spine", "example.com/spine"), ("rack", "nvidia.com/gpu.clique")),
    (("region", "topology.kubernetes.io/region"), ("gpu-block", "x.io/gpu-block"), ("sub-block", "x.io/sub-block")),
)
ACCELERATORS: tuple[tuple[str, int, Data], ...] = tuple(
    (each.pop("name"), each.pop("devices"), each)
    for each in parse("""
- {name: gb200, devices: 4, vendor: nvidia}
- {name: gb200, devices: 4, vendor: nvidia, allocator: device-plugin, resources: {count: nvidia.com/gpu}}
- {name: gb200, devices: 4, vendor: nvidia, allocator: dra, deviceClass: gpu.nvidia.com}
- {name: h100, devices: 8, vendor: nvidia, allocator: [device-plugin, dra]}
- name: l40s
  devices: 8
  vendor: nvidia
  allocator: hami
  memory: 48Gi
  maxPods: 10
  resources:
    count: nvidia.com/gpu
    memory: nvidia.com/gpumem
    memoryPercentage: nvidia.com/gpumem-percentage
    cores: nvidia.com/gpucores
- {name: a10, devices: 4, vendor: nvidia, allocator: hami, memory: 24Gi, resources: {count: volcano.sh/vgpu-number}}
- {name: h100-1g, devices: 56, vendor: nvidia, profile: 1g.10gb}
- {name: mi300x, devices: 8, vendor: amd, resources: {count: amd.com/gpu}}
- name: c500
  devices: 8
  vendor: metax
  allocator: [hami, device-plugin]
  resources: {count: metax-tech.com/gpu}
  memory: 64Gi
  linkZones: [[0, 1, 2, 3], [4, 5, 6, 7]]
  topologyAnnotated: true
- {name: c500, devices: 8, vendor: metax, allocator: [hami], resources: {count: metax-tech.com/sgpu}, memory: 64Gi}
- {name: npu, devices: 8, vendor: ascend, allocator: hami, resources: {count: huawei.com/Ascend910B3}, memory: 64Gi}
""")
)
"""Name, devices of a node, and the kind."""

FABRICS = ("hostdevice", "sriov", "spectrumx", "macvlan", "ipoib", "dranet", "efa", "gke", "hostnetwork", "none")
PICKY = ("volcano", "koordinator", "kueue", "sunk")
"""Schedulers that refuse or misjudge pods without requests."""

REASONS = ("cordoned", "notReady", "unhealthy", "reserved", "spare")


SAFE: Data = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What the Pod Security level `restricted` takes."""


class Case(NamedTuple):
    """One workflow on one topology for one release of a scheduler."""

    seed: int
    scheduler: str
    workflow: Data
    topology: Data
    target: Mapping[str, str] = {}
    accept: frozenset[str] = frozenset()
    repairs: tuple[str, ...] = ()  # codes of diagnostics whose cause was removed

    @property
    def at(self) -> all_backends.At:
        """The scheduler and its release."""
        component = BACKENDS[self.scheduler].declared.component
        return all_backends.At(self.scheduler, self.versions.get(component, KNOWN[component][-1]))

    @property
    def versions(self) -> dict[str, str]:
        """All versions that the topology or the command line names."""
        return {**self.topology["spec"].get("versions", {}), **self.target}

    def text(self) -> str:
        """Both documents, to try by hand."""
        options = " ".join(f"--target {key}={value}" for key, value in self.target.items())
        head = f"# seed {self.seed}: render -s {self.scheduler} {options} --accept {','.join(sorted(self.accept))}\n"
        return head + "---\n".join("".join(emit([each])) for each in (self.workflow, self.topology))


class Rendered(NamedTuple):
    """A case, what bayplan made of it, and the bytes."""

    case: Case
    result: support.Result
    text: str


def render(case: Case) -> Rendered:
    """What bayplan makes of a case, with the objects of the cluster."""
    result = support.run(case.workflow, case.topology, **_request(case))
    return Rendered(case, result, "".join(emit(result.compiled.documents)) if result.compiled else "")


def diagnosed(case: Case) -> tuple[Diagnostic, ...]:
    """What bayplan says of a case."""
    one, other = Document("workflow.yaml", "", 0, case.workflow), Document("topology.yaml", "", 0, case.topology)
    outcome, _ = pipeline.compile(pipeline.Request(one, other, **_request(case)))
    return outcome.diagnostics


def _request(case: Case) -> dict[str, Any]:
    return {"scheduler": case.scheduler, "target": case.target, "accept": case.accept, "cluster_objects": True}


def accepted(case: Case, tries: int = 24) -> Rendered:
    """The case without what bayplan refuses; still refused after so many tries, or if nothing can go."""
    while len(case.repairs) < tries:
        errors = [each for each in diagnosed(case) if each.severity == "error"]
        fixed = _repaired(case, errors)
        if fixed is None:
            break
        case = fixed
    return render(case)


# --- what bayplan refuses is removed ---------------------------------------------------------------------------------

FIXED = frozenset(
    ["apiVersion", "kind", "metadata", "spec", "name", "gangs", "groups", "podSets", "pools", "node", "domains"]
)
FIXED |= {"nodes", "path", "label"}
"""Keys that every case keeps."""


def _repaired(case: Case, errors: list[Diagnostic]) -> Case | None:
    """The case without the first value that a diagnostic names and that can go."""
    for each in errors:
        subject, *path = each.route or ("",)
        document = {"workflow": case.workflow, "topology": case.topology}.get(str(subject))
        if document is None:
            continue
        if each.code == "W633":  # the hint is a securityContext; no Pod Security is simpler
            subject, document, path = "topology", case.topology, ["spec", "namespaces"]
        found = _existing(document, tuple(path))
        inherited = path[len(found)] if len(found) < len(path) and "podSets" in found else ""
        above = [found[:n] for n in range(len(found), 0, -1)]
        owners = [each for each in above if inherited in (_at(document, (*each, "defaults")) or ())]
        if inherited and owners:
            found = (*owners[0], "defaults", inherited)
        made = _without(document, found, each.code)
        if made is not None:
            changed = case._replace(**{str(subject): made})
            return changed._replace(repairs=(*case.repairs, each.code))
    return None


def _existing(data: Any, path: Path) -> Path:
    """The part of a path that the document has."""
    for number, key in enumerate(path):
        known = isinstance(data, dict) and key in data
        known = known or (isinstance(data, list) and isinstance(key, int) and key < len(data))
        if not known:
            return path[:number]
        data = data[key]
    return path


def _without(data: Data, path: Path, code: str) -> Data | None:
    """The document without the value at a path, or the closest one around it that can go. None if none can."""
    made = deepcopy(data)
    for length in range(len(path), 0, -1):
        owner: Any = made
        for key in path[: length - 1]:
            owner = owner[key]
        key = path[length - 1]
        if isinstance(owner, list) and isinstance(key, int):
            if len(owner) > 1:
                del owner[key]
                return made
            if code == "P552" and path[length - 2] == "podSets" and owner[key].keys() & {"resources", "accelerator"}:
                del owner[key]["resources" if "resources" in owner[key] else "accelerator"]
                return made
            smaller = _smaller(owner[key]) if code.startswith(("P55", "F729")) else None
            if smaller is not None:
                owner[key] = smaller
                return made
        elif key not in FIXED:
            del owner[key]
            return made
    return None


def _smaller(node: Any) -> Any:
    """A gang or group with half of the pods; None if it has only one."""
    for key in ("replicas", "size"):
        if isinstance(node, dict) and node.get(key, 1) > 1:
            return {**{k: v for k, v in node.items() if k != "minReplicas"}, key: node[key] // 2}
    for key in ("podSets", "groups"):
        inside = [_smaller(each) for each in node.get(key, ())] if isinstance(node, dict) else []
        if any(each is not None for each in inside):
            return {**node, key: [new or old for new, old in zip(inside, node[key], strict=True)]}
    return None


# --- the sound core ---------------------------------------------------------------------------------------------------


def draw(seed: int, scheduler: str) -> Case:
    """The case of a seed, before anything is removed."""
    chance = Random(f"{scheduler} {seed}")
    if chance.random() < 0.3:  # clusters with holes that the workflow about fills
        tight = random_cases.case(chance.randrange(4000) + chance.choice((0, random_cases.RICHER)))
        topology, workflow = deepcopy(tight.topology), deepcopy(tight.workflow)
        topology["spec"]["defaults"]["scheduler"] = scheduler
    else:
        topology = _topology(chance, scheduler)
        workflow = _workflow(chance, topology)
    topology["spec"]["versions"] = _versions(chance, scheduler)
    component = BACKENDS[scheduler].declared.component
    target = {}
    if chance.random() < 0.3:
        target = {component: topology["spec"]["versions"].pop(component)}
    if scheduler in ("slurm", "slurm-bridge") and chance.random() < 0.9:
        topology["spec"].setdefault("schedulers", {})["slurm"] = {"plugin": chance.choice(("block", "block", "tree"))}
    workflow = _suited(workflow, scheduler, chance)
    words = _words(workflow, topology)
    for _ in range(chance.choice((0, 1, 2, 4, 8))):
        workflow = _sprinkled(chance, "workflow", workflow, words)
    for _ in range(chance.choice((0, 0, 1, 2, 4))):
        topology = _sprinkled(chance, "cluster-topology", topology, words)
    for part in chance.sample(PARTS, chance.choice((0, 0, 1, 2))):
        _ensured(part, workflow, topology)
        for _ in range(chance.randint(1, 4)):
            workflow = _sprinkled(chance, "workflow", workflow, words, part)
            topology = _sprinkled(chance, "cluster-topology", topology, words, part)
    if chance.random() < 0.4:  # settings of the scheduler itself
        workflow["spec"]["gangs"][-1].setdefault("backends", {}).setdefault(scheduler, {})
        topology["spec"].setdefault("schedulers", {}).setdefault(scheduler, {})
        for _ in range(chance.randint(1, 3)):
            workflow = _sprinkled(chance, "workflow", workflow, words, f".backends.{scheduler}.")
            topology = _sprinkled(chance, "cluster-topology", topology, words, f".schedulers.{scheduler}.")
    accept = all_backends.GAPS if scheduler == "sunk" or chance.random() < 0.25 else frozenset()
    return Case(seed, scheduler, workflow, topology, target, accept)


def _versions(chance: Random, scheduler: str) -> Data:
    own = BACKENDS[scheduler].declared.component
    known = all_backends.versions(scheduler)
    made = {each: chance.choice(KNOWN[each]) for each in KNOWN if chance.random() < 0.4}
    if own == "kubernetes" or "kubernetes" not in made:
        made["kubernetes"] = chance.choice(KNOWN["kubernetes"])
    return {**made, own: chance.choice((*known, *([known[-1]] * len(known))))}


def _suited(flow: Data, scheduler: str, chance: Random) -> Data:
    """The workflow with kinds that the scheduler takes."""
    kinds = BACKENDS[scheduler].declared.kinds
    for gang in flow["spec"]["gangs"]:
        if gang.get("lifecycle") == "service":
            continue
        if gang.get("workload", "auto") not in ("auto", *kinds):
            gang["workload"] = chance.choice(("auto", "auto", *kinds))
    return flow


def _topology(chance: Random, scheduler: str) -> Data:
    accelerators: Data = {}
    levels = chance.choice(LEVELS)
    depth = chance.choice((0, 1, 1, 2, 2, 2, 3))
    taken: list[str] = []
    pools = [
        _pool(chance, number, levels[3 - depth :], accelerators, taken, scheduler)
        for number in range(chance.choice((1, 1, 1, 2)))
    ]
    spec: Data = {"defaults": {"scheduler": scheduler}, "pools": pools}
    if accelerators:
        spec["accelerators"] = accelerators
    if chance.random() < 0.9:
        spec["defaults"]["queue"] = chance.choice(("research", "a.b", "q-0"))
    if chance.random() < 0.7:
        spec["defaults"]["namespace"] = "ml"
    if chance.random() < 0.3:
        spec["priorityClasses"] = {"train": 100, "idle": -5}
    if chance.random() < 0.3:
        spec["dataMovers"] = {"s3": {"image": "rclone/rclone:1.71", "secret": "s3-keys"}}
        spec["dataStore"] = "s3://scratch/bayplan"
    if chance.random() < 0.3:
        spec["images"] = {"kubectl": "registry.example.com/kubectl:1.34"}
    if chance.random() < 0.35:
        spec["fabrics"] = {"east-west": _fabric(chance)}
    if chance.random() < 0.3:
        security = chance.choice(("privileged", "privileged", "baseline", "restricted"))
        spec["namespaces"] = {"ml": {"podSecurity": security, "serviceAccount": chance.choice(("", "trainer"))}}
    return _document("ClusterTopology", chance.choice(("hall", "hall-1", "h")), spec)


def _document(kind: str, name: str, spec: Data, **more: str) -> Data:
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": kind, "metadata": {"name": name, **more}, "spec": spec}


def _pool(
    chance: Random,
    number: int,
    levels: tuple[tuple[str, str], ...],
    accelerators: Data,
    taken: list[str],
    scheduler: str,
) -> Data:
    node: Data = {"cpu": str(chance.choice((16, 64, 140))), "memory": chance.choice(("256Gi", "900Gi"))}
    linked = False
    if number == 0 or chance.random() < 0.5:
        shared = scheduler in ("kueue", "none", "native", "volcano") or chance.random() < 0.1
        claims = scheduler != "slurm-bridge" or chance.random() < 0.1
        kinds = [
            each for each in ACCELERATORS if (shared or "hami" not in str(each)) and (claims or "dra" not in str(each))
        ]
        name, count, kind = chance.choice(kinds)
        if name not in accelerators:
            accelerators[name] = deepcopy(kind)
            node |= {"accelerator": name, "count": count}
            linked = kind["vendor"] == "nvidia" and chance.random() < 0.7
    if chance.random() < 0.2:
        node["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    if number or chance.random() < 0.3:
        node["nodeSelector"] = {"example.com/pool": f"p{number}"}
    stem = chance.choice(("n", "gb-r", "ip-10-0-")) + str(number)
    domains = []
    widths = [chance.choice((1, 2, 2, 3)) for _ in levels]
    repeats = len(levels) > 1 and chance.random() < 0.15
    for place, path in enumerate(_paths(chance, widths, taken, repeats)):
        size = chance.choice((4, 8, 12, chance.randint(1, 16)))
        own = {"path": "/".join(path)} if path else {}
        domains.append({**own, "nodes": f"{stem}-{place}-[01-{size:02}]"})
    pool: Data = {"name": chance.choice(("gpu", "p", "pool")) + (str(number) or ""), "node": node}
    if levels:
        pool["levels"] = [{"name": name, "label": label} for name, label in levels]
        if linked:
            pool["levels"][-1]["nvlink"] = True
        if repeats:
            pool["levels"][-1]["unique"] = "parent"
        if chance.random() < 0.2:
            pool["levels"][-1]["plan"] = chance.choice((2, 4, 16))
    pool["domains"] = domains
    first = nodes_of(domains[0])
    out = chance.sample(first, min(len(first) - 1, chance.choice((0, 0, 1, 2, 3))))
    if out:
        pool["unusable"] = dict(zip(chance.sample(REASONS, len(out)), out, strict=True))
    return pool


def _paths(chance: Random, widths: list[int], taken: list[str], repeats: bool) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for level, width in enumerate(widths):
        below = []
        for path in found:
            for number in range(width):
                taken.append("")
                value = chance.choice(("s", "R-", "d.")) + str(len(taken))
                below.append((*path, f"r{number}" if repeats and level == len(widths) - 1 else value))
        found = below
    return found


def nodes_of(domain: Data) -> list[str]:
    """The nodes of a domain."""
    return workflow_oracle.hosts(domain["nodes"])


def _fabric(chance: Random) -> Data:
    kind, count = chance.choice(FABRICS), chance.choice((1, 2, 4))
    shared = chance.random() < 0.3 and kind != "spectrumx"
    dash = "-" if kind == "spectrumx" else "_"
    rails = [
        {
            "network": f"fabric/rail-{n}",
            "resource": "nvidia.com/hostdev" if shared else f"nvidia.com/rail{dash}{n}",
            "device": f"ens{n}",
            "interface": f"rail{n}",
            "hca": f"mlx5_{n}",
            "subnet": f"10.{n}.0.0/16",
            "gateway": f"10.{n}.0.1",
        }
        for n in range(count)
    ]
    of_kind = {
        "dranet": ("hca", "interface"),
        "gke": ("network", "interface"),
        "hostnetwork": ("interface", "hca"),
        "none": ("resource",),
        "efa": ("resource",),
    }
    if kind == "efa":
        rails = [{"resource": "vpc.amazonaws.com/efa"} for _ in range(count)]
    own: Data = {"ipam": {"type": chance.choice(("nv-ipam", "whereabouts"))}} if kind == "macvlan" else {}
    if kind in ("hostdevice", "sriov", "macvlan") and chance.random() < 0.6:
        own["linkType"] = chance.choice(("ethernet", "infiniband"))
    keys = of_kind.get(kind, ("network", "resource", *(("hca", "device", "subnet", "gateway") if len(own) > 1 else ())))
    return {"kind": kind, **own, "rails": [{key: rail[key] for key in keys if key in rail} for rail in rails]}


def _workflow(chance: Random, topology: Data) -> Data:
    spec: Data = {}
    if chance.random() < 0.5:
        spec["queue"] = topology["spec"]["defaults"].get("queue", "research")
    if chance.random() < 0.3:
        spec["priorityClassName"] = "train"
    if chance.random() < 0.3:
        spec["defaults"] = {"image": IMAGE, "env": {"A": "1"}}
    names = chance.sample(NAMES, chance.choice((1, 1, 1, 1, 2, 2, 3)))
    spec["gangs"] = []
    for number, name in enumerate(names):
        gang = _gang(chance, name, topology, len(names))
        if number and chance.random() < 0.25:
            gang["dependsOn"] = [names[chance.randrange(number)]]
        spec["gangs"].append(gang)
    name = chance.choice(("wf", "train", "a", "a-b", "workflow-with-a-long-name"))
    return _document("Workflow", name, spec, **chance.choice(({}, {"namespace": "ml"}, {"namespace": "team-a"})))


def _gang(chance: Random, name: str, topology: Data, count: int) -> Data:
    pool = topology["spec"]["pools"][0]
    levels = [each["name"] for each in pool.get("levels", ())]
    placement, floor = _placement(chance, levels, 0)
    gang: Data = {"name": name, **placement}
    for key, values in (
        ("workload", ("jobset", "job", "pods", "lws", "volcano-job")),
        ("rendezvous", ("gang", "group", "none")),
        ("replicas", (1, 2)),
        ("preemptible", (True, False)),
        ("computeDomain", ("never", "gang")),
        ("maxRestarts", (0, 3)),
        ("barrier", ("gang", "group")),
    ):
        if chance.random() < 0.25:
            gang[key] = chance.choice(values)
    most = chance.choice((1, 2, 4, 8)) // count or 1
    if len(topology["spec"]["pools"]) > 1:
        gang["pool"] = pool["name"]
    gang |= _contents(chance, levels, floor, chance.choice((0, 0, 1, 1, 2)), most, topology)
    if chance.random() < 0.12:
        _serve(chance, gang)
    if "computeDomain" not in gang and "'nvlink'" in str(pool) and _parts(gang, pool["node"].get("count", 0)):
        _nowhere(gang)  # a channel is for pods that take whole nodes (P506)
    return gang


def _serve(chance: Random, gang: Data) -> None:
    """A service: copies of one pod, or a gang that never ends."""
    for key in ("maxRestarts", "barrier", "workload"):
        gang.pop(key, None)
    gang["lifecycle"] = "service"
    if chance.random() < 0.5:
        for key in ("groups", "placement"):
            gang.pop(key, None)
        gang["podSets"] = [
            {"name": "web", "image": IMAGE, "ports": {"http": 8080}, "resources": {"cpu": "2", "memory": "2Gi"}}
        ]
        gang["service"] = chance.choice(({}, {"ports": ["http"]}, {"type": "NodePort"}))
        copies = gang.get("replicas", 1)
        for key, value in (
            ("autoscale", {"minReplicas": copies, "maxReplicas": copies + 1, "cpuPercent": 80}),
            ("rollout", {"surge": 1, "unavailable": 0}),
            ("workload", "deployment"),
        ):
            if chance.random() < 0.3:
                gang[key] = value
    elif chance.random() < 0.5:
        gang["workload"] = "statefulset"


def _parts(node: Data, whole: int) -> bool:
    """Whether pods take a part of a node's devices."""
    sets = (each["accelerator"]["count"] for each in node.get("podSets", ()) if "accelerator" in each)
    return any(count < whole for count in sets) or any(_parts(each, whole) for each in node.get("groups", ()))


def _nowhere(node: Data) -> None:
    node["computeDomain"] = "never"
    for each in node.get("groups", ()):
        _nowhere(each)


def _placement(chance: Random, levels: list[str], floor: int) -> tuple[Data, int]:
    """A placement with levels no coarser than the one outside, and the first level for what is inside."""
    found: Data = {}
    if floor < len(levels) and chance.random() < 0.5:
        floor = chance.randrange(floor, len(levels))
        found["required"] = levels[floor]
    finer = floor + bool(found)
    if finer < len(levels) and chance.random() < 0.25:
        found["preferred"] = levels[chance.randrange(finer, len(levels))]
    return ({"placement": found} if found else {}), floor


def _contents(chance: Random, levels: list[str], floor: int, depth: int, most: int, topology: Data) -> Data:
    """Groups or podSets, never both."""
    if depth == 0:
        return {"podSets": _pod_sets(chance, most, topology)}
    groups = []
    for name in chance.sample(NAMES, chance.choice((1, 1, 1, 2))):
        placement, inner = _placement(chance, levels, floor)
        replicas = chance.choice((1, 2, 2, 3, 4))
        group = {"name": name, **placement, **_contents(chance, levels, inner, depth - 1, most, topology)}
        if depth == 1 and len(group["podSets"]) == 1 and chance.random() < 0.3:
            size = group["podSets"][0]["replicas"]
            group["podSets"][0]["replicas"] = size * replicas - chance.choice((0, 0, size - 1))
            group["podSets"][0].pop("minReplicas", None)
            groups.append({**group, "size": size})
            continue
        if chance.random() < 0.15:
            group["minReplicas"] = chance.randint(1, replicas)
        if levels and chance.random() < 0.1:
            group["separate"] = chance.choice(levels)
        groups.append({**group, "replicas": replicas})
    return {"groups": groups}


def _pod_sets(chance: Random, most: int, topology: Data) -> list[Data]:
    node = topology["spec"]["pools"][0]["node"]
    fabrics = list(topology["spec"].get("fabrics", ()))
    made = []
    for number, name in enumerate(chance.sample(NAMES, chance.choice((1, 1, 1, 2, 3)))):
        spec: Data = {"name": name, "replicas": chance.randint(1, most), "image": IMAGE, "command": ["run", "x"]}
        if "count" in node and (number == 0 or chance.random() < 0.4):
            whole = node["count"]
            spec["accelerator"] = {"count": chance.choice((whole, whole, whole, max(1, whole // 2), 1))}
            if fabrics and chance.random() < 0.5:
                spec["fabric"] = chance.choice(fabrics)
        if "accelerator" not in spec or chance.random() < (
            0.9 if topology["spec"]["defaults"]["scheduler"] in PICKY else 0.5
        ):
            spec["resources"] = {
                "cpu": chance.choice(("1", "2", "500m", "8")),
                "memory": chance.choice(("1Gi", "512Mi")),
            }
        if chance.random() < 0.1:
            spec["minReplicas"] = chance.randint(1, spec["replicas"])
        made.append(spec)
    return made


# --- further fields, by the schemas -----------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where a document has a field, or could have it. `field`: its path in the schema."""

    path: Path
    field: str
    schema: Mapping[str, Any]


@cache
def schema(name: str) -> Any:
    """A schema of the repository."""
    return json.loads((ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8"))


def resolved(root: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its reference replaced."""
    while "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        part = {**root["definitions"][name], **{key: value for key, value in part.items() if key != "$ref"}}
    return dict(part)


def places(root: Any, part: Any, value: Any, path: Path = (), field: str = "") -> Iterator[Place]:
    """Every field that a document has or could have."""
    own = resolved(root, part)
    if isinstance(value, dict):
        known = own.get("properties", {})
        for key, inner in known.items():
            name = f"{field}.{key}".lstrip(".")
            yield Place((*path, key), name, inner)
            if key in value:
                yield from places(root, inner, value[key], (*path, key), name)
        if isinstance(own.get("additionalProperties"), dict):
            for key in value.keys() - known.keys():
                yield from places(root, own["additionalProperties"], value[key], (*path, key), f"{field}.*")
    elif isinstance(value, list) and "items" in own:
        for number, each in enumerate(value):
            yield from places(root, own["items"], each, (*path, number), field)


def fields(root: Any, part: Any, field: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Every field of a schema with its words, if it has a fixed set of them; groups in groups count once."""
    own = resolved(root, part)
    for key, inner in own.get("properties", {}).items():
        if not (key == "groups" and field.endswith(".groups")):
            name = f"{field}.{key}".lstrip(".")
            yield name, resolved(root, inner).get("enum", [])
            yield from fields(root, inner, name)
    for form, mark in ((own.get("additionalProperties"), ".*"), (own.get("items"), "")):
        if isinstance(form, dict):
            yield from fields(root, form, field + mark)


def drawn(name: str, document: Data) -> set[str]:
    """The fields of a schema that a document has, with their words if they have a fixed set of them."""
    root = schema(name)
    found = set()
    for place in places(root, root, document):
        value = _at(document, place.path)
        if value is not None:
            flat = _flat(place.field)
            found.add(flat)
            if "enum" in resolved(root, place.schema) and not isinstance(value, dict | list):
                found.add(f"{flat}={value}")
    return found


def every(name: str) -> set[str]:
    """All fields of a schema, and all words of those with a fixed set of them."""
    found = dict(fields(schema(name), schema(name)))
    return {*found, *(f"{path}={word}" for path, words in found.items() for word in words)}


def _flat(field: str) -> str:
    """A field of a group in a group as that of a group."""
    while ".groups.groups" in field:
        field = field.replace(".groups.groups", ".groups")
    return field


def _at(data: Any, path: Path) -> Any:
    for key in path:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


PARTS = (
    *(".accelerator.", ".fabrics.*.", ".fabric.", ".defaults.", ".data", ".template.", ".node.", ".slurm.", ".ipam."),
    *(".defaults.accelerator.", ".defaults.fabric.", ".dataMovers.", ".slurm.pools.*."),
)
"""Parts of field paths of which some cases get several fields."""


def _ensured(part: str, workflow: Data, topology: Data) -> None:
    """Give the documents the rare values around some parts."""
    inherited = workflow["spec"].setdefault("defaults", {}) if part.startswith(".defaults.") else {}
    pool = topology["spec"]["pools"][0]
    if part == ".defaults.accelerator.":
        inherited.setdefault("accelerator", {"count": 1})
    elif part == ".defaults.fabric.":
        inherited["fabric"] = {"name": "east-west"}
    elif part == ".dataMovers.":
        for owner in (topology["spec"], pool):
            owner["dataMovers"] = {word: {"image": IMAGE} for word in ("s3", "gs", "azure", "swift", "tos")}
    elif part == ".slurm.pools.*.":
        also = [{"topology": "fabric", "plugin": "tree", "levels": ["rack"]}]
        own = topology["spec"].setdefault("schedulers", {}).setdefault("slurm", {})
        own.setdefault("pools", {}).setdefault(pool["name"], {"also": also})
        own.setdefault("also", [{**also[0], "plugin": "block"}])


def _sprinkled(chance: Random, name: str, document: Data, words: Mapping[str, list[Any]], part: str = "") -> Data:
    """The document with one more field, or another value of one; only of those whose path has this part."""
    root = schema(name)
    by_field: dict[str, list[Place]] = {}
    for place in places(root, root, document):
        if part in f"{place.field}." and not _is_fixed(place):
            by_field.setdefault(place.field, []).append(place)
    if not by_field:
        return document
    place = chance.choice(by_field[chance.choice(sorted(by_field))])
    values = _values(root, place, words)
    if not values:
        return document
    made = deepcopy(document)
    owner = _at(made, place.path[:-1])
    owner[place.path[-1]] = deepcopy(chance.choice(values))
    return made


def _is_fixed(place: Place) -> bool:
    """Whether the core of the case depends on the field."""
    key = place.path[-1]
    free = ".schedulers." in place.field or place.field.endswith(("accelerator.node", "fabrics.*.kind"))
    return (key in FIXED and not free) or place.field == "spec.pools.levels"


def _values(root: Any, place: Place, words: Mapping[str, list[Any]]) -> list[Any]:
    """Values to try: of the documents, of the schema, and its examples."""
    own = resolved(root, place.schema)
    key = str(place.path[-1])
    owner = next((each for each in reversed(place.path[:-1]) if isinstance(each, str)), "")
    known = words.get(f"{owner}.{key}", words.get(key))
    tried = [*own.get("enum", ()), *own.get("examples", ())] if known is None else [*known]
    return tried + ([True, False] if own.get("type") == "boolean" else [])


VOLUMES: list[Data] = [
    {"/data": {"claim": "datasets", "subPath": "a", "readOnly": True}, "/models": {"claim": "datasets"}},
    {"/scratch": {"emptyDir": {"medium": "Memory", "size": "1Gi"}}, "/other": {"emptyDir": {}}},
    {"/data": {"hostPath": "/mnt/data", "type": "Directory"}, "/nfs": {"nfs": {"server": "nfs", "path": "/a"}}},
    {"/keys": {"secret": "keys", "items": {"id": "id"}, "mode": "0400"}, "/more": {"secret": "keys", "optional": True}},
    {"/fast": {"ephemeral": {"size": "1Ti", "storageClass": "nvme"}}, "/settings": {"configMap": "settings"}},
    {"/token": {"projected": [{"serviceAccountToken": {"path": "token", "audience": "vault"}}]}},
    {"/store": {"csi": {"driver": "store.csi.k8s.io", "volumeAttributes": {"a": "b"}}, "readOnly": True}},
]


def _words(workflow: Data, topology: Data) -> dict[str, list[Any]]:
    """Values of fields that name something, and of counts."""
    spec = topology["spec"]
    levels = [*(each["name"] for pool in spec["pools"] for each in pool.get("levels", ())), "host"]
    gangs = workflow["spec"]["gangs"]
    sets = list(_pod_set_names(gangs))
    kinds = list(spec.get("accelerators", {}))
    fabrics = list(spec.get("fabrics", ()))
    first = "-".join(_first(gangs[0]))
    small = [1, 1, 2, 3, 4]
    selectors = ["device.attributes['gpu.nvidia.com'].architecture == 'Blackwell'"]
    cards: list[Any] = [
        {"count": 1},
        {"count": 1, "memory": "8Gi", "cores": 30},
        {"count": 1, "memory": "50%"},
        {"count": 2, "selectors": selectors},
        {"count": 1, "profile": "1g.10gb"},
        *({"name": name, "count": 1} for name in kinds),
    ]
    attach = [*fabrics, *({"name": name, "rails": [0]} for name in fabrics)]
    attach += [{"name": name, "bootstrap": "fabric"} for name in fabrics]
    patch: list[Any] = [
        {"metadata": {"labels": {"team": "vision"}, "annotations": {"example.com/note": "a: b # c"}}},
        {"spec": {"terminationGracePeriodSeconds": 10, "hostIPC": True}},
        {"spec": {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}},
        {"spec": {"containers": [{"name": "side", "image": IMAGE, "resources": {"requests": {"cpu": "1"}}}]}},
        {"spec": {"containers": [{"securityContext": SAFE}], "securityContext": {"runAsNonRoot": True}}},
        {"spec": {"initContainers": [{"name": "init", "image": IMAGE}], "priorityClassName": "other"}},
    ]
    return {
        "pool": [each["name"] for each in spec["pools"]],
        **dict.fromkeys(("required", "preferred", "separate"), levels),
        "levels": [[each] for each in levels],
        "also": [[{"topology": "fabric", "plugin": "tree", "levels": [each]}] for each in levels],
        "slurm.pools": [{each["name"]: {"partition": each["name"]}} for each in spec["pools"]],
        "units": [
            {domain["path"]: "block001"} for pool in spec["pools"] for domain in pool["domains"][:1] if "path" in domain
        ],
        "deviceClassMappings": [{"compute-domain-default-channel.nvidia.com": "example.com/imex-channel"}],
        "featureGates": [
            {"TopologyAwareScheduling": True, "GenericWorkload": True},
            {"Pyxis": True},
            {"CoScheduling": True},
        ],
        "fabric": attach,
        "node.fabrics": [fabrics],
        "accelerator": cards,
        "node.accelerator": kinds,
        "accelerator.name": kinds,
        **dict.fromkeys(("replicas", "minReplicas", "size", "count"), small),
        "lead": sets,
        "dependsOn": [[each["name"]] for each in gangs[:-1]] or [[]],
        "hosts": [{"@first@": first}, {"${A}": f"{first}/0"}],
        "command": [["run", "@first@"], ["sh", "-c", "echo $NODE_RANK; exec run"], ["torchrun", "--nnodes=$(NNODES)"]],
        "env": [
            {"A": "$(NODE_RANK)", "B": "", "Z_9": 5},
            {"LONG": "x: y #\n\t'\"", "U": "äß"},
            {"TOKEN": {"secret": "hub", "key": "token"}, "USED": "$(TOKEN)"},
            {"NODE": {"field": "spec.nodeName"}, "CPUS": {"resource": "limits.cpu"}},
        ],
        "volumes": VOLUMES,
        "mounts": [[], ["/data"]],
        "sidecars": [[{"name": "logs", "image": IMAGE}], [{"name": "logs", "image": IMAGE, "resources": {"cpu": "1"}}]],
        "initContainers": [[{"name": "init", "image": IMAGE, "mounts": []}], [{"name": "unpack", "image": IMAGE}]],
        "ports": [{"http": 8000, "m-1": 65535}, {"metrics": 9400}],
        "files": [{"/opt/run.sh": "#!/bin/sh\necho hi\n", "/etc/b.bin": {"base64": "AAEC"}}, {"/a": ""}],
        "labels": [{"team": "vision"}, {"example.com/a.b": "X_1", "z": ""}],
        "annotations": [{"example.com/ticket": "ML-1204"}, {"a": "multi\nline: 'text' # x"}],
        "template": patch,
        "cpu": ["1", "2", "500m"],
        "node.cpu": ["8", "140", "64500m"],
        "memory": ["1Gi", "50%"] if kinds else ["1Gi"],
        "queue": ["research", "a.b", spec["defaults"].get("queue", "q")],
        "queues": [[spec["defaults"].get("queue", "q"), "other", "research"]],
        "priorityClassName": ["train"],
        "priorityClasses": [{"train": 100}, {"train": 7, "osmo-normal": -5}],
        "namespace": ["ml", "team-a"],
        "namespaces": [{"ml": {"podSecurity": each}} for each in ("baseline", "restricted")],
        "data": [
            {"outputs": [{"url": "s3://models/run", "path": "/out"}]},
            {"inputs": [{"url": "s3://sets/a", "path": "/in", "regex": ".*[.]pt$"}]},
            {"checkpoints": [{"url": "s3://models/c", "path": "/c", "everySeconds": 600}]},
        ],
        "dataMovers": [{word: {"image": IMAGE}} for word in ("s3", "gs", "azure", "swift", "tos")],
        "backends": [
            {name: {}} for name in ("kai", "volcano", "kueue", "koordinator", "native", "slurm", "slurm-bridge", "sunk")
        ],
        "schedulers": [
            {name: {}} for name in ("kai", "volcano", "kueue", "koordinator", "native", "slurm", "slurm-bridge", "sunk")
        ],
        "spec.scheduler": [spec["defaults"].get("scheduler", "kai")],
        "defaults.scheduler": [spec["defaults"].get("scheduler", "kai")],
        "fabrics": [{"east-west": _fabric(Random(n))} for n in range(12)],
        "unusable": [{"cordoned": nodes_of(spec["pools"][0]["domains"][0])[0]}],
        **{f"unusable.{reason}": [nodes_of(spec["pools"][0]["domains"][0])[0]] for reason in REASONS},
        "plan": [1, 2, 16],
    }


def _pod_set_names(nodes: list[Data]) -> Iterator[str]:
    for node in nodes:
        yield from (each["name"] for each in node.get("podSets", ()))
        yield from _pod_set_names(node.get("groups", []))


def _first(gang: Data) -> Iterator[str]:
    """The parts of the name of a gang's first podSet instance."""
    node = gang
    while "groups" in node:
        node = node["groups"][0]
        yield f"{node['name']}-0"
    yield node["podSets"][0]["name"]
