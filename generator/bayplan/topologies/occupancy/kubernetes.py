"""Pods, ResourceClaims and nodes that kubectl prints: as JSON, or pods as an extract with one line for each.

A pod takes of its node what kube-scheduler counts (Kubernetes 1.34 to 1.37, pkg/scheduler/framework/types.go,
`NodeInfo`). A pod that waits for the pods that it preempts is already on the node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bayplan import plugins
from bayplan.core.diagnostics import AT, Diagnostic, Route, error
from bayplan.core.phrases import count
from bayplan.kube import quantity
from bayplan.kube.kinds import GANG_LABEL
from bayplan.kube.objects import get, items, mapping, text
from bayplan.kube.pod import WHOLE_NODE, host_ports
from bayplan.model.formats import SourceFile
from bayplan.model.plan import BOUNDED, ONE, OPEN, SLOTS, WHOLE
from bayplan.topologies.kubernetes_nodes.reading import Pieces, WrongError, lines, objects
from bayplan.topologies.occupancy.devices import Claimed, Device
from bayplan.topologies.occupancy.ledger import HINT, Ledger, open_amounts

FINISHED = ("Succeeded", "Failed")
DAEMONS = ("DaemonSet", "Node")
"""Kinds whose pods run on every node. The owner of a static pod is its Node."""

GROUP_LABELS = (
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "volcano.sh/job-name",
    "ray.io/cluster",
    "training.kubeflow.org/job-name",
    GANG_LABEL,
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""Labels with the name of the workload of a pod, the outermost first."""

HASH = re.compile(r"-[a-z0-9]{5,10}\Z")
POD_LEVEL = ("cpu", "memory", "hugepages-")
"""What a pod as a whole can request (component-helpers 0.37, `IsSupportedPodLevelResource`)."""

LISTS = ("items", "jobs", "nodes")
KNOWN = ("Pod", "ResourceClaim", "Node")


class Bound(NamedTuple):
    """A pod on a node. `owner`: kind and name of its controller."""

    namespace: str
    name: str
    node: str
    labels: Mapping[str, Any]
    owner: tuple[str, str]
    claims: bool


class Needs(NamedTuple):
    """What a pod takes of its node: requests, and TCP ports."""

    requests: Mapping[str, int]
    ports: tuple[int, ...]


def read_json(source: SourceFile, ledger: Ledger) -> Iterator[Diagnostic]:
    """Adds the objects of Lists, of single objects in sequence, or of Slurm's JSON. R160: the text is not JSON."""
    at, known, other = source.at(), False, set[str]()
    try:
        for line, column, each in objects(Pieces(source.chunks()), LISTS):
            place = (*at, AT, line, column)
            try:
                kind = _add(ledger, place, each)
            except (ValueError, AttributeError, TypeError) as problem:
                known = True
                yield _unread(each, problem, place)
                continue
            known = known or kind in KNOWN
            other.add(kind)
    except WrongError as problem:
        message = problem.message if problem.partial else f"the file is not complete JSON: {problem.message}"
        yield error("R160", (*at, AT, problem.line, problem.column), message, hint=HINT)
        return
    strange = sorted(each for each in other if not each.endswith("List"))
    if strange and not known:
        what = f"objects of kind {strange[0]}" if strange[0] else "objects without a kind"
        yield error("R160", at, f"the file has no pods, claims, nodes or jobs, but {what}", hint=HINT)


def _add(ledger: Ledger, place: Route, data: Any) -> str:
    """Adds an object. Its kind."""
    kind = text(data, "kind")
    if kind == "Pod":
        add_pod(ledger, place, data)
    elif kind == "ResourceClaim":
        add_claim(ledger, place, data)
    elif kind == "Node":
        add_node(ledger, place, data)
    elif not kind and any(reader.add(ledger, place, data) for reader in plugins.loaded("occupancy")):
        return "List"
    return kind


def _unread(data: Any, problem: Exception, place: Route) -> Diagnostic:
    """R160."""
    kind, name = text(data, "kind").lower() or "object", text(data, "metadata", "name")
    what = f'{kind} "{name[:80]}"' if name else f"this {kind}"
    why = str(problem) if isinstance(problem, ValueError) else "a value has the wrong type"
    return error("R160", place, f"bayplan cannot read {what}: {why[:120]}", hint=HINT)


def add_node(ledger: Ledger, place: Route, data: Any) -> None:
    """Notes what a node offers, so that DaemonSets count, and whether it starts pods."""
    name = text(data, "metadata", "name")
    if name not in ledger.pools:
        return
    allocatable = mapping(data, "status", "allocatable")
    ledger.allocatable[name] = _amounts({key: allocatable[key] for key in OPEN if key in allocatable})
    ready = (text(each, "status") for each in items(data, "status", "conditions") if get(each, "type") == "Ready")
    if (get(data, "spec", "unschedulable") is True or next(ready, "True") != "True") and name not in ledger.unusable:
        ledger.out.setdefault(name, place)


def add_pod(ledger: Ledger, place: Route, data: Any) -> None:
    """Adds a pod that is on a node and is not finished."""
    metadata, spec, status = mapping(data, "metadata"), mapping(data, "spec"), mapping(data, "status")
    node = text(spec, "nodeName") or text(status, "nominatedNodeName")
    if node and text(status, "phase") not in FINISHED:
        owner = _owner(items(metadata, "ownerReferences"))
        name, namespace = text(metadata, "name"), text(metadata, "namespace")
        claiming = bool(items(spec, "resourceClaims"))
        bound = Bound(namespace, name, node, mapping(metadata, "labels"), owner, claiming)
        _take(ledger, place, bound, partial(_needs, spec, status))


def _take(ledger: Ledger, place: Route, pod: Bound, needs: Any) -> None:
    if not pod.name:
        raise ValueError("it has no name")
    full = f"{pod.namespace}/{pod.name}"
    if not ledger.first(full):
        return
    pool = ledger.pool(pod.node, place, "pod")
    if pool is None:
        return
    workload = f"{pod.namespace}/{_workload(pod)}"
    if pod.claims:
        ledger.claiming[full] = pod.node, workload
    requests, ports = needs()
    if pod.owner[0] in DAEMONS:
        own, requests = open_amounts(requests)
        ledger.take_daemon(pod.node, workload, own)
    taken = ledger.amounts(pool, requests)
    taken[SLOTS] = ONE
    if pod.labels.get(WHOLE_NODE) == "true":
        taken[WHOLE] = ONE
    for port in ports:
        taken[f"{BOUNDED}1:port {port} of the node"] = ONE
    ledger.take(pod.node, workload, 1, taken)


def _owner(references: Sequence[Any]) -> tuple[str, str]:
    """Kind and name of the controller."""
    controllers = [each for each in references if get(each, "controller") is True] or references
    return (text(controllers[0], "kind"), text(controllers[0], "name")) if controllers else ("", "")


def _workload(pod: Bound) -> str:
    """The name of a pod's workload: that of the outermost owner that its labels name, or else of its controller."""
    for label in GROUP_LABELS:
        name = pod.labels.get(label)
        if name and isinstance(name, str):
            return name
    kind, name = pod.owner
    if kind == "ReplicaSet":
        template = pod.labels.get("pod-template-hash")
        return name.removesuffix(f"-{template}") if template else HASH.sub("", name)
    if kind == "Node":
        return pod.name.removesuffix(f"-{pod.node}")
    return name or pod.name


# What a pod requests.


def _needs(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Needs:
    containers, before = items(spec, "containers"), items(spec, "initContainers")
    statuses = {text(each, "name"): each for key in STATUSES for each in items(status, key)}
    resized = any(_is_resized(each, statuses.get(text(each, "name"))) for each in (*containers, *before))
    asked = quantity.of_containers(containers, before, _requested)
    if resized:
        infeasible = any(
            (get(each, "type"), get(each, "reason")) == ("PodResizePending", "Infeasible")
            for each in items(status, "conditions")
        )
        running = (
            quantity.of_containers(containers, before, partial(_running, statuses, keys, infeasible)) for keys in ACTUAL
        )
        asked = quantity.highest((*running, *(() if infeasible else (asked,))))
    return _with_pod(asked, spec.get("resources"), spec.get("overhead"), host_ports(spec))


STATUSES = ("containerStatuses", "initContainerStatuses")
ACTUAL = ((("allocatedResources",),), (("resources", "requests"), ("allocatedResources",)))
"""Where the status of a container that is resized in place has its requests; two counts, the largest of which counts
(component-helpers 0.37, `AggregateContainerRequests`)."""


def _is_resized(container: Any, status: Any) -> bool:
    """Whether the status of a container has other requests than its spec."""
    asks = mapping(container, "resources", "requests")
    found = (get(status, *path) for keys in ACTUAL for path in keys)
    return any(each is not None and each != asks for each in found)


def _running(
    statuses: Mapping[str, Any], keys: Iterable[tuple[str, ...]], infeasible: bool, container: Mapping[str, Any]
) -> Mapping[str, int]:
    status = statuses.get(text(container, "name"))
    found = next((each for path in keys if isinstance(each := get(status, *path), dict)), None)
    if found is None:
        return {} if infeasible else _requested(container)
    return _amounts(found)


def _requested(container: Mapping[str, Any]) -> Mapping[str, int]:
    return _natural(quantity.requested(container))


def _amounts(texts: Mapping[str, Any]) -> Mapping[str, int]:
    return _natural(quantity.amounts(texts))


def _natural(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """The amounts. ValueError if one is negative."""
    wrong = next((name for name, amount in amounts.items() if amount < 0), "")
    if wrong:
        raise ValueError(f'the amount of "{wrong}" is negative')
    return amounts


def _with_pod(asked: Mapping[str, int], resources: Any, overhead: Any, ports: Iterable[int]) -> Needs:
    """With the requests of the pod as a whole, and its overhead."""
    whole = _amounts(mapping(resources, "requests"))
    whole = {name: amount for name, amount in whole.items() if name.startswith(POD_LEVEL)}
    total = quantity.added(({**asked, **whole}, _amounts(overhead or {})))
    return Needs({name: _rounded(name, amount) for name, amount in total.items()}, tuple(sorted({*ports})))


def _rounded(name: str, amount: int) -> int:
    """Of other resources than CPU, the scheduler counts whole units."""
    return amount if name == "cpu" or not amount % ONE else -(-amount // ONE) * ONE


# The devices that a claim holds (`resource.k8s.io` v1beta1 to v1).

EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that kube-scheduler made for a pod's extended resources (Kubernetes 1.34, KEP-5004). They
are requests of the pod, and so they count there."""


def add_claim(ledger: Ledger, place: Route, data: Any) -> None:
    """Adds an allocated claim. Devices for administrators stay free for others."""
    allocation = mapping(data, "status", "allocation")
    name = f"{text(data, 'metadata', 'namespace')}/{text(data, 'metadata', 'name')}"
    if allocation and name.endswith("/"):
        raise ValueError("it has no name")
    if not allocation or text(data, "metadata", "annotations", EXTENDED) == "true" or not ledger.first(f"claim {name}"):
        return
    requests = dict(_of_requests(items(data, "spec", "devices", "requests")))
    devices = []
    for result in items(allocation, "devices", "results"):
        own = Device(text(result, "driver"), text(result, "device"), *requests.get(text(result, "request"), ()))
        shared = get(result, "shareID") is not None  # several claims hold parts of one device
        if get(result, "adminAccess") is not True and (
            not shared or ledger.first(f"device {text(result, 'pool')}/{own.driver}/{own.name}")
        ):
            devices.append(own)
    if devices:
        namespace = text(data, "metadata", "namespace")
        users = (each for each in items(data, "status", "reservedFor") if text(each, "resource") == "pods")
        pods = tuple(f"{namespace}/{text(each, 'name')}" for each in users)
        ledger.claims.append(Claimed(name, pods, _node(allocation), tuple(devices), place))


def _of_requests(requests: Iterable[Any]) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Name of each request, and of each of its alternatives -> DeviceClass and selectors."""
    for each in requests:
        name = text(each, "name")
        exact = mapping(each, "exactly") or each
        yield name, _selected(exact)
        for other in items(each, "firstAvailable"):
            yield f"{name}/{text(other, 'name')}", _selected(other)


def _selected(request: Any) -> tuple[str, tuple[str, ...]]:
    selectors = (text(each, "cel", "expression") for each in items(request, "selectors"))
    return text(request, "deviceClassName"), tuple(selectors)


def _node(allocation: Mapping[str, Any]) -> str:
    """The only node on which the devices are. Empty if they are for several, or if only the pods say where."""
    for term in items(allocation, "nodeSelector", "nodeSelectorTerms"):
        for field in items(term, "matchFields"):
            values = items(field, "values")
            if text(field, "key") == "metadata.name" and text(field, "operator") == "In" and len(values) == 1:
                return str(values[0])
    return ""


# The extract of `kubectl get pods`: one line for each pod.
#
#     kubectl get pods -A -o jsonpath='{range .items[*]}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}
#     {.spec.nodeName}{"\t"}{.status.nominatedNodeName}{"\t"}{.status.phase}{"\t"}{.metadata.labels}{"\t"}
#     {.metadata.ownerReferences}{"\t"}{range .spec.containers[*]}{.resources}{.ports}{end}{"\t"}
#     {range .spec.initContainers[*]}{.resources}{.ports}{.restartPolicy}{end}{"\t"}{.spec.resources}{"\t"}
#     {.spec.overhead}{"\t"}{.spec.resourceClaims}{"\n"}{end}'
#
# kubectl prints maps and lists as JSON (client-go util/jsonpath, PrintResults), so that a container is a map, which the
# list of its ports and the word of its restart policy may follow.

COLUMNS = 12
_DECODE = json.JSONDecoder().raw_decode
ALWAYS = "Always"
_CLAIMED, _OWNED = 11, 6


def is_extract(head: str) -> bool:
    """Whether the text starts with a line of the extract."""
    cells = head.lstrip("\n").partition("\n")[0].split("\t")
    return len(cells) >= 8 and cells[7][:1] in ("{", "[") and cells[5][:1] in ("{", "")


def read_extract(source: SourceFile, ledger: Ledger) -> Iterator[Diagnostic]:
    """Adds the pods."""
    at = source.at()
    known: dict[tuple[str, ...], Needs] = {}

    def needs(columns: tuple[str, ...]) -> Needs:
        found = known.get(columns)
        if found is None:
            found = known[columns] = _extracted(*columns)
        return found

    for number, line in enumerate(lines(source.chunks()), 1):
        if not line:
            continue
        place = (*at, AT, number, 1)
        cells = line.split("\t")
        if len(cells) != COLUMNS:
            message = f"line {number} has {count(len(cells), 'column')}, not {COLUMNS}"
            yield error("R160", place, message, hint=COMMAND)
            continue
        namespace, name, node, nominated, phase = cells[:5]
        if not (node or nominated) or phase in FINISHED:
            continue
        try:
            owned = json.loads(cells[_OWNED]) if cells[_OWNED] else []
            owner = _owner(owned if isinstance(owned, list) else [])
            labels = json.loads(cells[5]) if cells[5] else {}
            bound = Bound(namespace, name, node or nominated, labels, owner, bool(cells[_CLAIMED]))
            _take(ledger, place, bound, partial(needs, tuple(cells[7:11])))
        except (ValueError, AttributeError, TypeError, RecursionError) as problem:
            what = "a column is not valid JSON" if isinstance(problem, json.JSONDecodeError) else str(problem)[:120]
            yield error("R160", place, f'bayplan cannot read pod "{name[:80]}": {what}', hint=COMMAND)


COMMAND = (
    "pass the output of `kubectl get pods -A -o json`, or write the extract again with the command in"
    " docs/how-to/check-a-busy-cluster.md"
)


def _extracted(containers: str, before: str, resources: str, overhead: str) -> Needs:
    own, first = list(_containers(containers)), list(_containers(before))
    asked = quantity.of_containers(own, first, _requested)
    whole = json.loads(resources) if resources else {}
    ports = host_ports({"containers": own, "initContainers": first})
    return _with_pod(asked, whole, json.loads(overhead) if overhead else {}, ports)


def _containers(column: str) -> Iterator[dict[str, Any]]:
    """`{...}[...]{...}Always`: maps of resources, each with its ports and its restart policy."""
    position = 0
    container: dict[str, Any] | None = None
    while position < len(column):
        if column.startswith(ALWAYS, position) and container is not None:
            container["restartPolicy"] = ALWAYS
            position += len(ALWAYS)
            continue
        value, position = _DECODE(column, position)
        if isinstance(value, list) and container is not None:
            container["ports"] = value
            continue
        if container is not None:
            yield container
        container = {"resources": value} if isinstance(value, dict) else {"ports": value}
    if container is not None:
        yield container
