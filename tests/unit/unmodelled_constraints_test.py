"""Which constraints in templates the proof does not model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from fit_scene import cluster, gang, plan, pods, pool, racks

from bayplan.planning.workload_checks import unmodelled_constraints

ROUTE = ("workflow", "spec", "gangs", 0, "podSets", 0)


@pytest.mark.parametrize(
    ("spec", "keys"),
    [
        ({}, []),
        ({"nodeSelector": None, "affinity": None}, []),
        ({"nodeSelector": {"kind": "gpu"}}, []),
        ({"nodeSelector": {"kind": "cpu"}}, ["nodeSelector"]),
        ({"nodeSelector": {"kind": "gpu", "firmware": "new"}}, ["nodeSelector"]),
        ({"affinity": {"nodeAffinity": {}}}, ["affinity"]),
        ({"nodeSelector": {"firmware": "new"}, "affinity": {"nodeAffinity": {}}}, ["nodeSelector", "affinity"]),
    ],
    ids=["nothing", "nulls", "the pool's", "another", "one more", "affinity", "both"],
)
def test_only_what_the_pool_does_not_say(spec: Mapping[str, Any], keys: list[str]) -> None:
    nodes = pool(racks(1, 4))
    nodes = nodes._replace(node=nodes.node._replace(node_selector={"kind": "gpu"}))
    asked = gang("a", pods("w", 2, route=ROUTE, template={"spec": spec}))
    found = list(unmodelled_constraints(plan(cluster(nodes), asked, asked._replace(name="a-1", copy=1))))
    assert [(each.code, each.severity) for each in found] == [("P518", "warning")] * len(keys)
    assert [each.route for each in found] == [(*ROUTE, "template", "spec", key) for key in keys]
