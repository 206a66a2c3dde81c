"""Which nodes templates select, and which of their constraints the proof does not model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from fit_scene import cluster, gang, plan, pods, pool, racks

from bayplan.planning.node_selection import REQUIRED, selection
from bayplan.planning.workload_checks import unmodelled_constraints

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ROUTE = ("workflow", "spec", "gangs", 0, "podSets", 0)


@pytest.mark.parametrize(
    ("spec", "keys"),
    [
        ({}, []),
        ({"nodeSelector": None, "affinity": None}, []),
        ({"nodeSelector": {"kind": "gpu"}}, []),
        ({"nodeSelector": {"kind": "gpu", "firmware": "new"}}, ["nodeSelector"]),
        ({"affinity": {"nodeAffinity": {}}}, []),
        ({"affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}}, []),
        ({"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}}, ["affinity"]),
    ],
    ids=["nothing", "nulls", "the pool's", "one more", "an empty affinity", "a preference", "apart"],
)
def test_only_what_the_pool_does_not_say(spec: Mapping[str, Any], keys: list[str]) -> None:
    nodes = pool(racks(1, 4))
    nodes = nodes._replace(node=nodes.node._replace(node_selector={"kind": "gpu"}))
    asked = gang("a", pods("w", 2, route=ROUTE, template={"spec": spec}))
    found = list(unmodelled_constraints(plan(cluster(nodes), asked, asked._replace(name="a-1", copy=1))))
    assert [(each.code, each.severity) for each in found] == [("P518", "warning")] * len(keys)
    assert [each.route for each in found] == [(*ROUTE, "template", "spec", key) for key in keys]


def terms(*expressions: tuple[str, str, list[str]], field: str = "matchExpressions") -> dict[str, Any]:
    listed = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    return {field: listed}


def affinity(*alternatives: Mapping[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(alternatives)}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({}, (8, 0, 0)),
        ({"nodeSelector": {"kind": "gpu"}}, (8, 0, 0)),
        ({"nodeSelector": {"kind": "cpu"}}, (0, 8, 0)),
        ({"nodeSelector": {"kind": "gpu", "firmware": "1"}}, (0, 0, 8)),
        ({"nodeSelector": {"kind": "cpu", "firmware": "1"}}, (0, 8, 0)),
        (affinity(terms(("kind", "In", ["gpu", "cpu"]))), (8, 0, 0)),
        (affinity(terms(("kind", "NotIn", ["gpu"]))), (0, 8, 0)),
        (affinity(terms(("kind", "Exists", []))), (8, 0, 0)),
        (affinity(terms(("kind", "DoesNotExist", []))), (0, 8, 0)),
        (affinity(terms(("size", "Gt", ["7"]))), (8, 0, 0)),
        (affinity(terms(("size", "Lt", ["8"]))), (0, 8, 0)),
        (affinity(terms(("size", "Gt", ["x"]))), (0, 8, 0)),
        (affinity(terms(("kind", "In", ["cpu"])), terms(("firmware", "Exists", []))), (0, 0, 8)),
        (affinity(terms(("kind", "In", ["cpu"])), terms(("kind", "In", ["gpu"]))), (8, 0, 0)),
        (
            affinity(terms(("metadata.name", "In", ["gb200-z-s0-r0-0", "gb200-z-s0-r0-1"]), field="matchFields")),
            (2, 6, 0),
        ),
        ({"nodeSelector": {"kubernetes.io/hostname": "gb200-z-s0-r0-3"}}, (1, 7, 0)),
        ({"nodeSelector": {"firmware": "1"}, **affinity(terms(("kind", "In", ["cpu"])))}, (0, 8, 0)),
    ],
)
def test_the_nodes_that_a_template_selects(spec: Mapping[str, Any], counts: tuple[int, int, int]) -> None:
    nodes = pool(racks(2, 4))
    nodes = nodes._replace(node=nodes.node._replace(node_selector={"kind": "gpu", "size": "8"}))
    assert selection(spec, nodes)[:3] == counts
