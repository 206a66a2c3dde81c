"""Plain manifests under the default scheduler's own rules: in whatever order pods come and whichever node each takes,
innermost required levels hold and separate groups keep apart; an outer level need not hold, which is why it is refused.

The rules are those of the InterPodAffinity plugin (kubernetes 1.32 to 1.37, `filtering.go`), written down once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
import yaml

import support
from tools.data import parse
from tools.effort import seeds

Labels = Mapping[str, str]
Placed = list[tuple[support.Pod, Labels]]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OPERATORS = {"In": lambda value, values: value in values, "NotIn": lambda value, values: value not in values}


def terms(pod: support.Pod, kind: str) -> list[dict[str, Any]]:
    found = pod.spec.get("affinity", {}).get(kind, {}).get(REQUIRED, [])
    assert isinstance(found, list)
    return found


def selects(term: Mapping[str, Any], pod: support.Pod) -> bool:
    selector = term["labelSelector"]
    exact = all(pod.labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return exact and all(
        OPERATORS[each["operator"]](pod.labels.get(each["key"]), each["values"])
        for each in selector.get("matchExpressions", ())
    )


def near(term: Mapping[str, Any], one: Labels, other: Labels) -> bool:
    return one[term["topologyKey"]] == other[term["topologyKey"]]


def follows(pod: support.Pod, node: Labels, placed: Placed) -> bool:
    """Pod affinity: pods count that match all terms; where there are none, the first of a kind may go anywhere."""
    asked = terms(pod, "podAffinity")
    counted = [where for other, where in placed if asked and all(selects(term, other) for term in asked)]
    if not counted:
        return all(selects(term, pod) for term in asked)
    return all(any(near(term, node, where) for where in counted) for term in asked)


def keeps_away(pod: support.Pod, node: Labels, placed: Placed) -> bool:
    """Pod anti-affinity: of the pod towards others, and of others towards it."""
    mine = terms(pod, "podAntiAffinity")
    return not any(
        any(selects(term, other) and near(term, node, where) for term in mine)
        or any(selects(term, pod) and near(term, node, where) for term in terms(other, "podAntiAffinity"))
        for other, where in placed
    )


def schedule(pods: Sequence[support.Pod], nodes: Sequence[Labels], seed: int) -> Placed:
    """Pods one by one, each on any node that the rules leave; those for which there is none wait."""
    chance, placed, free = Random(seed), Placed(), list(nodes)
    for pod in chance.sample(list(pods), len(pods)):
        open_nodes = [node for node in free if follows(pod, node, placed) and keeps_away(pod, node, placed)]
        if open_nodes:
            node = chance.choice(open_nodes)
            free.remove(node)
            placed.append((pod, node))
    return placed


def cluster(unique: str) -> tuple[dict[str, Any], list[Labels]]:
    """Two spines of four racks of 18 nodes; the racks of both may be called alike."""
    topology = parse(yaml.safe_dump(support.TOPOLOGY))
    pool = topology["spec"]["pools"][0]
    pool["levels"][1] = {"name": "rack", "label": "example.com/rack", "unique": unique}
    nodes = []
    for spine in range(2):
        for rack in range(4):
            name = f"r{rack}" if unique == "parent" else f"r{spine}{rack}"
            pool["domains"][4 * spine + rack]["path"] = f"s{spine}/{name}"
            nodes += [{"example.com/spine": f"s{spine}", "example.com/rack": name}] * 18
    return topology, nodes


def gang(**changes: Any) -> dict[str, Any]:
    pod_sets = [{**support.WORKER, "name": name, "replicas": 3} for name in ("a", "b")]
    group = {"name": "side", "replicas": 3, "placement": {"required": "rack"}, "podSets": pod_sets}
    return {"name": "train", "groups": [{**group, **changes}]}


def domains(placed: Placed) -> dict[str, set[tuple[str, ...]]]:
    """Group -> the racks, by path, that its pods run in."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for pod, node in placed:
        rack = (node["example.com/spine"], node["example.com/rack"])
        found.setdefault(pod.labels["bayplan.dev/group"], set()).add(rack)
    return found


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("unique", ["global", "parent"])
def test_the_innermost_level_always_holds(unique: str, seed: int) -> None:
    topology, nodes = cluster(unique)
    result = support.run(support.workflow(gang()), topology, scheduler="none")
    placed = schedule(list(support.pods(result.documents)), nodes, seed)
    assert len(placed) == 18
    assert all(len(racks) == 1 for racks in domains(placed).values())


@pytest.mark.parametrize("seed", seeds(20))
def test_separate_groups_always_keep_apart(seed: int) -> None:
    topology, nodes = cluster("global")
    result = support.run(support.workflow(gang(separate="rack")), topology, scheduler="none")
    found = domains(schedule(list(support.pods(result.documents)), nodes, seed))
    racks = [rack for own in found.values() for rack in own]
    assert len(racks) == len(set(racks)) == 3


def test_an_outer_level_is_only_a_preference() -> None:
    topology, nodes = cluster("global")
    flow = support.workflow({**gang(), "placement": {"required": "spine"}})
    lost = [each.severity for each in support.run(flow, topology, scheduler="none").diagnostics if each.code == "F638"]
    assert sorted(lost) == ["error", "info"]
    result = support.run(flow, topology, scheduler="none", accept=frozenset({"F638"}))
    pods = list(support.pods(result.documents))
    wishes = pods[0].spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [each["podAffinityTerm"]["topologyKey"] for each in wishes] == ["example.com/spine"]
    spines = [
        {spine for racks in domains(schedule(pods, nodes, seed)).values() for spine, _ in racks} for seed in range(20)
    ]
    assert any(len(each) == 2 for each in spines)


def test_a_second_required_term_would_not_help() -> None:
    """Why the outer level is no required term: pods of other groups match the one but not the other."""
    topology, nodes = cluster("global")
    flow = support.workflow({**gang(), "placement": {"required": "spine"}})
    result = support.run(flow, topology, scheduler="none", accept=frozenset({"F638"}))
    pods = list(support.pods(result.documents))
    for pod in pods:
        affinity = pod.spec["affinity"]["podAffinity"]
        outer = affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
        affinity[REQUIRED].append(outer)
    spines = [
        {spine for racks in domains(schedule(pods, nodes, seed)).values() for spine, _ in racks} for seed in range(20)
    ]
    assert any(len(each) == 2 for each in spines)


def test_the_first_pod_may_choose_a_rack_without_room() -> None:
    """Why a required level is carried only approximately."""
    topology, nodes = cluster("global")
    result = support.run(support.workflow(gang()), topology, scheduler="none")
    tight = [node for number, node in enumerate(nodes) if number % 18 < (2 if number < 72 else 18)]
    counts = {len(schedule(list(support.pods(result.documents)), tight, seed)) for seed in range(20)}
    assert min(counts) < 18
