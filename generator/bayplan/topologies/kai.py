"""KAI's Topology (kai.scheduler/v1alpha1) and Queue objects (scheduling.run.ai/v2), which become pools without nodes.

KAI 0.10 to 0.17. A level is a node label, coarse to fine; nodes without one of the labels are not in the tree. If a
level has an alias, as in later releases, the alias is its name here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.kube.objects import get, is_kind, items, mapping, non_empty, text
from bayplan.kube.quantity import LARGEST
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import GPU, ClusterTopology, Pool, Queue, Quota, card_resource
from bayplan.topologies.native import planned

GROUP, QUEUES = "kai.scheduler", "scheduling.run.ai"
MOST = 16
"""Levels of a Topology (KAI 0.17, deployments/kai-scheduler/crds/kai.scheduler_topologies.yaml)."""


def sniff(source: SourceFile) -> bool:
    """Whether the file has a Topology of KAI."""
    from bayplan.topologies.grouping import kube_objects

    return GROUP in source.head and any(is_kind(data, GROUP, "Topology") for _, data in kube_objects(source))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """One pool for each Topology, and the queues."""
    from bayplan.topologies.grouping import dns_label, kube_objects

    objects = list(kube_objects(source))
    topologies = [(route, data) for route, data in objects if is_kind(data, GROUP, "Topology")]
    faults = tuple(d for route, data in topologies for d in _faults(route, data))
    if faults or not topologies:
        wrong = faults or (error("T530", source.at(), "the file has no Topology of KAI", hint=HINT),)
        return Outcome(None, wrong)
    taken: set[str] = set()
    pools = tuple(_pool(data, taken) for _, data in topologies)
    name = text(topologies[0][1], "metadata", "name")
    kai = {"kai": {"topology": name}} if len(topologies) == 1 else {}
    queues = _read_queues(data for _, data in objects if is_kind(data, QUEUES, "Queue")) or None
    result = ClusterTopology(dns_label(name) or "cluster", pools, {}, {}, queues, kai)
    leaves = result.queue_names or ()
    result = result._replace(defaults={"scheduler": "kai", **({"queue": leaves[0]} if len(leaves) == 1 else {})})
    return Outcome(Part(planned(result, options.plan), source=source.name))


HINT = "use the output of `kubectl get topologies.kai.scheduler -o yaml`"


def _labels(data: Any) -> list[str]:
    return [text(level, "nodeLabel") for level in items(data, "spec", "levels")]


def _faults(route: Route, data: Any) -> Iterator[Diagnostic]:
    """Faults that KAI's CRD refuses."""
    from bayplan.schemas import is_label_key
    from bayplan.topologies.kueue import wrong_order

    labels = _labels(data)
    wrong = next((label for label in labels if not is_label_key(label)), None)
    if not labels or len(labels) > MOST:
        fault = f"it has {len(labels)} levels, expected 1 to {MOST}"
    elif wrong is not None:
        fault = f'"{wrong[:80]}" is not a label key'
    else:
        fault = wrong_order(labels)
    if fault:
        message = f'KAI does not accept Topology "{text(data, "metadata", "name")}": {fault}'
        yield error("T461", (*route, "spec", "levels"), message, hint="list different node labels, coarse to fine")


def _pool(data: Any, taken: set[str]) -> Pool:
    from bayplan.topologies.grouping import dns_label
    from bayplan.topologies.kueue import label_pool

    levels = items(data, "spec", "levels")
    aliases = {text(each, "nodeLabel"): dns_label(text(each, "alias")) for each in levels}
    return label_pool(text(data, "metadata", "name"), _labels(data), taken, aliases)


# Queues: each has a share of its own (`quota`) and a `limit` of each resource; -1 is unlimited.

UNITS = {"gpu": 1000, "cpu": 1, "memory": 10**9}
"""Thousandths in one unit of KAI: GPUs, thousandths of a CPU, and 10^6 bytes (scheduling.run.ai_queues.yaml)."""


def _read_queues(objects: Iterable[Mapping[str, Any]]) -> tuple[Queue, ...]:
    """The queues with the parents that the file has too. Only queues without children accept jobs."""
    by_name = {text(each, "metadata", "name"): each for each in objects if text(each, "metadata", "name")}
    above = {name: text(each, "spec", "parentQueue") for name, each in by_name.items()}
    return tuple(
        Queue(name, above[name] if above[name] in by_name else "", tuple(_quotas(mapping(each, "spec", "resources"))))
        for name, each in by_name.items()
    )


def _quotas(resources: Mapping[str, Any]) -> Iterator[Quota]:
    for name, unit in UNITS.items():
        quota, limit = (_amount(get(resources, name, key), unit) for key in ("quota", "limit"))
        if quota is not None or limit is not None:
            yield Quota(name, "", quota, limit)


def _amount(number: Any, unit: int) -> int | None:
    """Thousandths; None for an unlimited or missing number."""
    finite = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number * unit <= LARGEST
    return round(number * unit) if finite else None


def write_queues(topology: ClusterTopology) -> Iterator[Manifest]:
    """The queues with their numbers. Those without numbers have no limits: the cluster administrator sets them."""
    above = topology.schedulers.get("kai", {}).get("parentQueue", "")
    for queue in topology.queues_or_default:
        yield {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": queue.name},
            "spec": {
                **non_empty(parentQueue=queue.parent or above),
                "resources": {name: _resource(queue, name, topology) for name in UNITS},
            },
        }


def as_written(topology: ClusterTopology, _target: Target) -> ClusterTopology:
    """The topology with the queues that its objects have: without numbers of single pools and of other resources."""
    return topology._replace(queues=_read_queues(write_queues(topology)) or None)


def _resource(queue: Queue, name: str, topology: ClusterTopology) -> dict[str, Any]:
    """The numbers of a resource; -1: unlimited. KAI counts GPUs of all kinds."""
    names = (name, card_resource(topology)) if name == GPU else (name,)
    pools = ("", topology.pools[0].name) if len(topology.pools) == 1 else ("",)
    quota = next((each for each in queue.quotas if each.resource in names and each.pool in pools), Quota(name))
    return {
        "quota": _in_units(quota.guaranteed, name),
        "limit": _in_units(quota.limit, name),
        "overQuotaWeight": 1,
    }


def _in_units(amount: int | None, name: str) -> int | float:
    if amount is None:
        return -1
    number = amount / UNITS[name]
    return int(number) if number.is_integer() else number
