"""The way back: what workloads for Kueue say is what the plan meant, less what fidelity said is lost."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan.backends import BACKENDS
from bayplan.backends.kueue.needs import FEATURES as OWN
from bayplan.emit import emit
from bayplan.model.features import FEATURES
from bayplan.model.intent import UnitIntent

KUEUE = BACKENDS["kueue"]
VERSIONS = ["0.14", "0.15", "0.16", "0.17", "0.18", "0.19"]
ACCEPTED = frozenset(each.code for each in (*FEATURES.values(), *OWN.values()))
UNTOLD = {"P510", "F655"}  # names that meet; bare pods of several podSets, which Kueue tells apart by requests alone


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow=random_workflows.workflows(), version=st.sampled_from(VERSIONS))
def test_workloads_read_back_as_the_plans_intent(flow: dict[str, Any], version: str) -> None:
    """With every gap accepted: what is dropped is dropped on both sides, and nothing else is."""
    result = support.run(flow, random_workflows.TOPOLOGY, scheduler="kueue", target={"kueue": version}, accept=ACCEPTED)
    assume(result.compiled is not None and not UNTOLD & set(result.codes))
    assert result.compiled
    planned = result.compiled.planned
    read = KUEUE.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(KUEUE.intent(planned.plan, planned.target), key=lambda gang: gang.name)
    assert list(read.value or ()) == wanted
    assert len(list(support.pods(result.documents))) == sum(_size(gang.root) for gang in wanted)


def _size(unit: UnitIntent) -> int:
    return sum(pods.replicas for pods in unit.pods) + sum(map(_size, unit.units))
