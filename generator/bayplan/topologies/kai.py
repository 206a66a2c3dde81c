"""KAI's Topology (kai.scheduler/v1alpha1) and Queue objects (scheduling.run.ai/v2), which become pools without nodes.

KAI 0.10 to 0.17. A level is a node label, coarse to fine; nodes without one of the labels are not in the tree. If a
level has an alias, as in later releases, the alias is its name here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.kube.objects import is_kind, items, text
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.topologies import grouping
from bayplan.topologies.grouping import kube_objects
from bayplan.topologies.kueue import label_pool, wrong_order
from bayplan.topologies.native import planned

GROUP, QUEUES = "kai.scheduler", "scheduling.run.ai"
MOST = 16
"""Levels of a Topology (KAI 0.17, deployments/kai-scheduler/crds/kai.scheduler_topologies.yaml)."""


def sniff(source: SourceFile) -> bool:
    """Whether the file has a Topology of KAI."""
    return GROUP in source.head and any(is_kind(data, GROUP, "Topology") for _, data in kube_objects(source))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """One pool for each Topology, and the leaf queues."""
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
    queues = tuple(_leaves(data for _, data in objects if is_kind(data, QUEUES, "Queue")))
    defaults = {"scheduler": "kai", **({"queue": queues[0]} if len(queues) == 1 else {})}
    result = ClusterTopology(grouping.dns_label(name) or "cluster", pools, {}, defaults, queues or None, kai)
    return Outcome(Part(planned(result, options.plan), source=source.name))


HINT = "use the output of `kubectl get topologies.kai.scheduler -o yaml`"


def _labels(data: Any) -> list[str]:
    return [text(level, "nodeLabel") for level in items(data, "spec", "levels")]


def _faults(route: Route, data: Any) -> Iterator[Diagnostic]:
    """Faults that KAI's CRD refuses."""
    from bayplan.schemas import is_label_key

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
    levels = items(data, "spec", "levels")
    aliases = {text(each, "nodeLabel"): grouping.dns_label(text(each, "alias")) for each in levels}
    return label_pool(text(data, "metadata", "name"), _labels(data), taken, aliases)


def _leaves(queues: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """Queues that are not a parent: only these accept jobs."""
    listed = [(text(each, "metadata", "name"), text(each, "spec", "parentQueue")) for each in queues]
    parents = {parent for _, parent in listed}
    yield from dict.fromkeys(name for name, _ in listed if name and name not in parents)
