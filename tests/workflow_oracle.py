"""What a Workflow document asks of a placement, worked out from the document alone: not one line of bayplan's is used.

A placement says for pods, called (gang, podSet instance, number), on which node they are; pods that it does not name
have not started. `faults` tells what is wrong with it, gang by gang.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

Data = Mapping[str, Any]
Pod = tuple[str, str, int]  # gang, podSet instance, number
Placement = Mapping[Pod, str]


class PodSet(NamedTuple):
    """One podSet instance."""

    name: str
    replicas: int
    minimum: int


class Unit(NamedTuple):
    """One instance of a gang or group."""

    name: str
    required: str
    separate: str
    groups: tuple[Group, ...]
    pods: tuple[PodSet, ...]


class Group(NamedTuple):
    """All instances of a group in one unit."""

    minimum: int
    members: tuple[Unit, ...]


def gangs(flow: Data) -> dict[str, Unit]:
    """Every copy of every gang by its object name: the workflow's, the gang's where there are several, the copy's."""
    made, spec = {}, flow["spec"]
    for gang in spec["gangs"]:
        name = flow["metadata"]["name"] + (f"-{gang['name']}" if len(spec["gangs"]) > 1 else "")
        copies = _copies(gang)
        for copy in range(copies):
            made[f"{name}-{copy}" if copies > 1 else name] = _unit(gang, "")
    return made


def _copies(gang: Data) -> int:
    """A copy for each row of a matrix, or for each combination of its values."""
    matrix = gang.get("matrix")
    if not matrix:
        return int(gang.get("replicas", 1))
    return len(matrix["rows"]) if "rows" in matrix else prod(len(values) for values in matrix.values())


def _unit(node: Data, name: str, pods: tuple[PodSet, ...] = ()) -> Unit:
    inside = name and f"{name}-"
    return Unit(
        name,
        node.get("placement", {}).get("required", ""),
        node.get("separate", ""),
        tuple(_group(each, inside) for each in node.get("groups", ())),
        pods or tuple(_pod_set(each, inside) for each in node.get("podSets", ())),
    )


def _pod_set(spec: Data, inside: str) -> PodSet:
    replicas = spec.get("replicas", 1)
    return PodSet(inside + spec["name"], replicas, spec.get("minReplicas", replicas))


def _group(group: Data, inside: str) -> Group:
    if "size" in group:
        members = tuple(_slices(group, inside))
    else:
        members = tuple(_unit(group, f"{inside}{group['name']}-{n}") for n in range(group.get("replicas", 1)))
    return Group(group.get("minReplicas", len(members)), members)


def _slices(group: Data, inside: str) -> Iterator[Unit]:
    """The one podSet, cut in rank order; the last piece may be smaller."""
    (spec,), size = group["podSets"], group["size"]
    for number, first in enumerate(range(0, spec.get("replicas", 1), size)):
        name = f"{inside}{group['name']}-{number}"
        count = min(size, spec.get("replicas", 1) - first)
        yield _unit(group, name, (PodSet(f"{name}-{spec['name']}", count, count),))


Where = Mapping[str, Mapping[str, str]]
"""Node -> word for a level -> the domain that the node lies in."""


def nodes(topology: Data, most: int = 1000) -> Where:
    """Every node with its domains by level *name*; of each finest domain no more than so many."""
    found: dict[str, dict[str, str]] = {}
    for _, names, domain, node in _rows(topology, most):
        found[node] = {name: "/".join(domain[: n + 1]) for n, name in enumerate(names)} | {"host": node}
    return found


def labels(topology: Data, most: int = 1000) -> Where:
    """The same by node *label*, as schedulers that are given a list of labels tell domains apart: by the whole path."""
    found: dict[str, dict[str, str]] = {}
    for keys, _, domain, node in _rows(topology, most):
        path = {key: "/".join(domain[: n + 1]) for n, key in enumerate(keys)}
        found[node] = path | {"kubernetes.io/hostname": node}
    return found


def _rows(topology: Data, most: int) -> Iterator[tuple[list[str], list[str], list[str], str]]:
    for pool in topology["spec"]["pools"]:
        keys, names = ([level[word] for level in pool.get("levels", ())] for word in ("label", "name"))
        for domain in pool["domains"]:
            for node in hosts(domain["nodes"])[:most]:
                yield keys, names, domain["path"].split("/"), node


def hosts(text: str) -> list[str]:
    """`n[01-18]`: one range at the end."""
    found = re.fullmatch(r"([^\[\],]*)\[(\d+)-(\d+)\]", text)
    if not found:
        return text.split(",")
    stem, first, last = found.groups()
    return [f"{stem}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]


def faults(gang: str, unit: Unit, where: Where, placement: Placement, counts: bool = True) -> Iterator[str]:
    """What a placement of one gang violates. Without `counts` any number of its pods may start."""
    for pods in unit.pods:
        started = len(_nodes(gang, pods, placement))
        if counts and started < pods.minimum:
            yield f"{pods.name}: {started} of {pods.minimum} pods have started"
    if unit.required and len(_domains(gang, unit, unit.required, where, placement)) > 1:
        yield f"{unit.name or gang}: pods in several domains of {unit.required}"
    for group in unit.groups:
        yield from _group_faults(gang, group, where, placement, counts)


def _group_faults(gang: str, group: Group, where: Where, placement: Placement, counts: bool) -> Iterator[str]:
    """So many instances must be whole; what starts beyond the minimum must be whole too."""
    whole = 0
    for member in group.members:
        wrong = list(faults(gang, member, where, placement, counts))
        whole += not wrong
        if wrong and (group.minimum == len(group.members) or any(_everything(gang, member, placement))):
            yield from wrong
    if counts and whole < group.minimum:
        yield f"{whole} of {group.minimum} instances are whole, of {group.members[0].name} and its like"
    for level in {member.separate for member in group.members if member.separate}:
        found = [_domains(gang, member, level, where, placement) for member in group.members]
        if sum(map(len, found)) > len(set().union(*found)):
            yield f"{group.members[0].name} and its like share a domain of {level}"


def _nodes(gang: str, pods: PodSet, placement: Placement) -> list[str]:
    keys = ((gang, pods.name, number) for number in range(pods.replicas))
    return [placement[key] for key in keys if key in placement]


def _everything(gang: str, unit: Unit, placement: Placement) -> Iterator[str]:
    for pods in unit.pods:
        yield from _nodes(gang, pods, placement)
    for group in unit.groups:
        for member in group.members:
            yield from _everything(gang, member, placement)


def _domains(gang: str, unit: Unit, level: str, where: Where, placement: Placement) -> set[str]:
    return {where[node][level] for node in _everything(gang, unit, placement)}
