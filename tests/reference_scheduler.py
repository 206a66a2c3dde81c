"""A reference scheduler: whether it would take a placement, going by nothing but what manifests were read to ask for.

`faults` needs the intent of a gang (`model/intent.py`), where each node lies in the words of that intent (`lexicon`),
and the placement. It knows no backend; what a word means it learns from the cluster's objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import workflow_oracle
from oracle.intent import GangIntent, PodsIntent, UnitIntent
from workflow_oracle import Placement, Pod, Where

Data = Mapping[str, Any]
Instances = Mapping[str, Sequence[tuple[str, int]]]
"""Name in the manifests -> the podSet instances that it stands for, with their sizes: what was folded has several."""


def faults(
    intent: GangIntent, where: Where, instances: Instances, placement: Placement, counts: bool = True
) -> Iterator[str]:
    """What a placement violates; pods are those of the gang alone. Without `counts` any number of them may start."""
    placed = {(name, number): node for (_, name, number), node in placement.items()}
    yield from _Scene(where, iter(dealt(intent.root, instances)), placed, counts).unit(intent.root).faults


Key = tuple[str, int]
"""A pod of the gang: podSet instance and number."""


def dealt(root: UnitIntent, instances: Instances) -> list[list[Key]]:
    """The pods of each podSet of the intent, in the order of `_all_pods`.

    Where one name occurs several times, or slices of it are called after it and their number (`worker-2`,
    `worker-2-0`), each has some of them in order. Where a name says nothing, all have some of the gang's, in order.
    """
    everyone = list(_all_pods(root))
    told = all(_sliced(pods.name, instances) for pods in everyone)
    names = [(_sliced(pods.name, instances) if told else None) or ("", ()) for pods in everyone]
    made: dict[int, list[Key]] = {}
    taken: set[Key] = set()
    for number in sorted(range(len(everyone)), key=lambda number: (names[number], number)):
        free = [(n, i) for n, count in instances[names[number][0]] for i in range(count) if (n, i) not in taken]
        made[number] = free[: everyone[number].replicas]
        taken.update(made[number])
        assert len(made[number]) == everyone[number].replicas, f"{everyone[number].name} has too few pods"
    return [made[number] for number in range(len(everyone))]


def _sliced(name: str, instances: Instances) -> tuple[str, tuple[int, ...]] | None:
    numbers: list[int] = []
    while name not in instances:
        name, _, number = name.rpartition("-")
        if not number.isdigit():
            return None
        numbers.insert(0, int(number))
    return name, tuple(numbers)


def _all_pods(unit: UnitIntent) -> Iterator[PodsIntent]:
    yield from unit.pods
    for child in unit.units:
        yield from _all_pods(child)


def implied(intent: GangIntent, word: str) -> GangIntent:
    """The intent with what a scheduler does without being told: pods without a level share a domain of this one."""

    def told(unit: UnitIntent) -> UnitIntent:
        level = unit.required or (word if unit.pods else "")
        return unit._replace(required=level, units=tuple(map(told, unit.units)))

    return intent._replace(root=told(intent.root))


class _Verdict(NamedTuple):
    """Where a unit's pods are that have started, and what is wrong with that."""

    nodes: list[str]
    faults: list[str]


class _Scene(NamedTuple):
    where: Where
    pods: Iterator[list[Key]]
    placed: Mapping[Key, str]
    counts: bool

    def unit(self, unit: UnitIntent) -> _Verdict:
        nodes: list[str] = []
        wrong: list[str] = []
        for pods in unit.pods:
            started = [self.placed[key] for key in next(self.pods) if key in self.placed]
            nodes += started
            if self.counts and len(started) < pods.minimum:
                wrong.append(f"{pods.name}: {len(started)} of {pods.minimum} pods have started")
        children = [self.unit(child) for child in unit.units]
        for child in children:
            nodes += child.nodes
            wrong += child.faults if child.nodes or not unit.minimum else []
        whole = sum(not child.faults for child in children)
        if self.counts and whole < unit.minimum:
            wrong.append(f"unit {unit.name!r}: {whole} of {unit.minimum} units are whole")
        domains = {self.where[node].get(unit.required, f"{node} lacks it") for node in nodes if unit.required}
        if len(domains) > 1:
            wrong.append(f"unit {unit.name!r}: pods in several domains of {unit.required}")
        return _Verdict(nodes, wrong)


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
        if each.get("kind") == "File":
            _blocks(each["text"], words)
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


def _blocks(text: str, words: dict[str, dict[str, str]]) -> None:
    """Slurm: blocks, and aggregated ones. How many blocks these have depends on the job; here they have all.

    In topology.yaml and in topology.conf a block stands on a line of its own.
    """
    for name, nodes in re.findall(r'[bB]lock(?:Name=|: ")([^" ]+)"?,? [nN]odes(?:=|: ")([^"\n]+)', text):
        for node in filter(words.__contains__, workflow_oracle.hosts(nodes)):
            words[node] |= {"block": name, "aggregated-block": "all"}


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
