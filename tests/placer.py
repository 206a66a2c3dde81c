"""A reference scheduler: whether it would take a placement, going by nothing but what manifests were read to ask for.

`faults` needs the intent of a gang (`model/intent.py`), where each node lies in the words of that intent (`lexicon`),
and the placement. It knows no backend; what a word means it learns from the cluster's objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from asked import Placement, Pod, Where
from bayplan.model.intent import GangIntent, PodsIntent, UnitIntent

Data = Mapping[str, Any]
Instances = Mapping[str, Sequence[tuple[str, int]]]
"""Name in the manifests -> the podSet instances that it stands for, with their sizes: what was folded has several."""


def faults(
    intent: GangIntent, where: Where, instances: Instances, placement: Placement, counts: bool = True
) -> Iterator[str]:
    """What a placement violates; pods are those of the gang alone. Without `counts` any number of them may start."""
    yield from _Scene(where, dealt(intent.root, instances), placement, counts).faults(intent.root)


Dealt = Mapping[int, Sequence[tuple[str, int]]]
"""`id` of a podSet of an intent -> its pods: podSet instance and number."""


def dealt(root: UnitIntent, instances: Instances) -> Dealt:
    """The pods of each podSet of the intent: in order, where one name occurs several times or slices of it
    are called after it and their number, `worker-2` or `worker-2-0`."""
    wanted = sorted(((*_sliced(pods.name, instances), n), pods) for n, pods in enumerate(_all_pods(root)))
    made: dict[int, list[tuple[str, int]]] = {}
    taken: set[tuple[str, int]] = set()
    for (name, *_), pods in wanted:
        free = [(n, i) for n, count in instances[name] for i in range(count) if (n, i) not in taken]
        made[id(pods)] = free[: pods.replicas]
        taken.update(made[id(pods)])
        assert len(made[id(pods)]) == pods.replicas, f"{pods.name} has too few pods"
    return made


def _sliced(name: str, instances: Instances) -> tuple[str, tuple[int, ...]]:
    numbers: tuple[int, ...] = ()
    while name not in instances:
        name, _, number = name.rpartition("-")
        numbers = (int(number), *numbers)
    return name, numbers


def _all_pods(root: UnitIntent) -> Iterator[PodsIntent]:
    for each in _walk(root):
        yield from each.pods


def _walk(unit: UnitIntent) -> Iterator[UnitIntent]:
    yield unit
    for child in unit.units:
        yield from _walk(child)


class _Scene:
    def __init__(
        self, where: Where, dealt: Mapping[int, list[tuple[str, int]]], placement: Placement, counts: bool
    ) -> None:
        self.counts = counts
        self.where = where
        self.dealt = dealt
        self.placed = {(name, number): node for (_, name, number), node in placement.items()}

    def faults(self, unit: UnitIntent) -> Iterator[str]:
        for pods in unit.pods:
            started = len(self.started(pods))
            if self.counts and started < pods.minimum:
                yield f"{pods.name}: {started} of {pods.minimum} pods have started"
        if unit.required:
            domains = {self.where[node].get(unit.required, f"{node} lacks it") for node in self.everything(unit)}
            if len(domains) > 1:
                yield f"unit {unit.name!r}: pods in several domains of {unit.required}"
        wrong = [list(self.faults(child)) for child in unit.units]
        whole = sum(not each for each in wrong)
        for child, found in zip(unit.units, wrong, strict=True):
            if found and (not unit.minimum or any(self.everything(child))):
                yield from found
        if self.counts and whole < unit.minimum:
            yield f"unit {unit.name!r}: {whole} of {unit.minimum} units are whole"

    def started(self, pods: PodsIntent) -> list[str]:
        return [self.placed[pod] for pod in self.dealt[id(pods)] if pod in self.placed]

    def everything(self, unit: UnitIntent) -> Iterator[str]:
        for each in _walk(unit):
            for pods in each.pods:
                yield from self.started(pods)


def of_gang(placement: Placement, gang: str) -> dict[Pod, str]:
    """The pods of one gang."""
    return {pod: node for pod, node in placement.items() if pod[0] == gang}


def lexicon(documents: Iterable[Data], labels: Where) -> Where:
    """Where nodes lie: by their labels, and by the words that a cluster's objects introduce for domains."""
    listed = list(documents)
    words: dict[str, dict[str, str]] = {node: dict(found) for node, found in labels.items()}
    for each in listed:
        if each.get("kind") == "ClusterNetworkTopology":
            _layers(each, words)
    _tiers([each for each in listed if each.get("kind") == "HyperNode"], words)
    return words


def _layers(document: Data, words: dict[str, dict[str, str]]) -> None:
    """Koordinator: a layer is a name for a label."""
    for layer in document["spec"]["networkTopologySpec"]:
        for found in words.values():
            keys = layer.get("labelKey") or ["kubernetes.io/hostname"]
            known = next((key for key in keys if key in found), None)
            if known:
                found[layer["topologyLayer"]] = found[known]


def _tiers(hyper_nodes: Sequence[Data], words: dict[str, dict[str, str]]) -> None:
    """Volcano: `tier N` is the largest HyperNode around a node whose tier is N at most; none is a domain of its own."""
    parent = {child: each for each in hyper_nodes for child in _members(each, "HyperNode", words)}
    tiers = sorted({each["spec"]["tier"] for each in hyper_nodes})
    for each in hyper_nodes:
        for node in filter(words.__contains__, _members(each, "Node", words)):
            around: Data | None = each
            words[node] |= {f"tier {tier}": node for tier in (0, *tiers)}
            while around:
                name, lowest = around["metadata"]["name"], around["spec"]["tier"]
                words[node] |= {f"tier {tier}": name for tier in tiers if tier >= lowest}
                around = parent.get(name)


def _members(hyper_node: Data, kind: str, nodes: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for member in hyper_node["spec"].get("members", ()):
        if member["type"] == kind:
            yield from _selected(member["selector"], nodes)


def _selected(selector: Data, nodes: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    if "exactMatch" in selector:
        return [selector["exactMatch"]["name"]]
    if "regexMatch" in selector:
        return [node for node in nodes if re.search(selector["regexMatch"]["pattern"], node)]
    wanted = selector["labelMatch"].get("matchLabels", {})
    return [n for n, own in nodes.items() if all(own.get(k, "").rpartition("/")[2] == v for k, v in wanted.items())]
