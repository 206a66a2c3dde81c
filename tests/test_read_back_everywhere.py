"""The way back, for every backend: what its manifests say is what the plan meant, and what they do not say was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import all_backends
import support
from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.model.backend import FEATURES
from bayplan.text.document import Document
from oracle import ORACLES
from oracle.intent import GangIntent, PodsIntent, UnitIntent, gang_intent
from tools.effort import examples
from tools.golden import SCRIPTS

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize("backend", ORACLES)
def test_manifests_read_back_as_the_plans_intent(backend: str) -> None:
    tally = all_backends.Tally()

    @settings(max_examples=examples(8, 40), derandomize=True, deadline=None, suppress_health_check=SLOW)
    @given(case=all_backends.flows(backend), seed=st.integers(0, 1 << 32))
    def check(case: tuple[all_backends.At, dict[str, Any]], seed: int) -> None:
        at, flow = case
        result = all_backends.run(flow, at)
        if not tally.refused(result):
            reads_back(at, result)
            tells_what_it_drops(at, result)
            reads_in_any_order(at, result, Random(seed))
            if at.backend not in SCRIPTS:
                passes_lint(at, result)

    check()
    assert tally.enough(), tally


def reads_back(at: all_backends.At, result: support.Result) -> None:
    """The manifests say what the backend says that the plan means, of every pod."""
    assert result.compiled is not None
    planned, oracle = result.compiled.planned, ORACLES[at.backend]
    planned = planned._replace(plan=support.of_objects(planned))
    read = oracle.read(result.documents)
    assert read.diagnostics == ()
    wanted = sorted(oracle.intent(planned.plan, planned.target), key=_order)
    assert sorted(read.value or (), key=_order) == wanted
    assert sum(pods.replicas for gang in wanted for pods in podsets(gang.root)) == sum(
        pods.replicas for gang in planned.plan.gangs for pods in podsets(gang_intent(planned.plan, gang).root)
    )


def _order(gang: GangIntent) -> tuple[str, str]:
    return gang.namespace, gang.name


def units(unit: UnitIntent) -> Iterator[UnitIntent]:
    """The unit and all inside."""
    yield unit
    for child in unit.units:
        yield from units(child)


def podsets(unit: UnitIntent) -> Iterator[PodsIntent]:
    """All podSets of a unit."""
    for each in units(unit):
        yield from each.pods


def reads_in_any_order(at: all_backends.At, result: support.Result, random: Random) -> None:
    """A cluster keeps no order of documents."""
    oracle, documents = ORACLES[at.backend], list(result.documents)
    before = sorted(oracle.read(documents).value or (), key=_order)
    random.shuffle(documents)
    assert sorted(oracle.read(documents).value or (), key=_order) == before


AS_REQUESTED = {"M717"}
"""Lint also warns of what the random workflows request: a Topology of another name, and pods above `minReplicas`."""


def passes_lint(at: all_backends.At, result: support.Result) -> None:
    """bayplan finds no mistake in its own manifests."""
    documents = tuple(Document("m.yaml", "", 0, each) for each in result.documents)
    topology = Document("topology.yaml", "", 0, all_backends.TOPOLOGY)
    outcome, _ = pipeline.lint(pipeline.LintRequest(documents, topology, target=at.target))
    found = [each for each in outcome.diagnostics if each.code.startswith("M") and each.code not in AS_REQUESTED]
    assert [each for each in found if each.severity != "info"] == [], (str(at), found)


PREFERRED = ("preferred-level", "group-preferred", "required-and-preferred", "mixed-pod-sets", "mixed-pools")
MINIMUM = ("optional-pods", "optional-groups", "optional-pods-placed")
DOMAINS = ("several-compute-domains", "compute-domain-each", "compute-domain")


def tells_what_it_drops(at: all_backends.At, result: support.Result) -> None:
    """A gang's wish that its manifests do not carry is a diagnostic of one of the features that are about it."""
    assert result.compiled is not None
    planned, backend = result.compiled.planned, BACKENDS[at.backend]
    told = set(result.codes)
    planned = planned._replace(plan=support.of_objects(planned))
    plans = {gang.name: gang for gang in planned.plan.gangs}
    for name, said in all_backends.by_gang(ORACLES[at.backend].intent(planned.plan, planned.target), plans).items():
        meant = gang_intent(planned.plan, plans[name])
        for words, before, after in _wishes(meant, said):
            own = {feature.code for feature in backend.declared.features.values()}
            assert after == before or told & (codes(words) | own), (str(at), words, result.codes)


def codes(features: Collection[str]) -> set[str]:
    """The codes of their losses."""
    return {FEATURES[feature].code for feature in features}


def _wishes(meant: GangIntent, said: list[GangIntent]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Features, what the plan says of them, what the manifests say."""
    assert {each.namespace for each in said} <= {meant.namespace, ""}  # files have none
    yield ("queue",), {meant.queue}, {each.queue for each in said}
    yield ("priority",), {meant.priority_class}, {each.priority_class for each in said}
    yield ("preemptible",), meant.preemptible is False, any(each.preemptible is False for each in said)
    if any(each.compute_domains for each in said):
        yield DOMAINS, set(meant.compute_domains), {name for each in said for name in each.compute_domains}
    wished = wishes(meant.root)
    yield PREFERRED, wished, wished and any(unit.preferred for each in said for unit in units(each.root))
    yield ("gang", *MINIMUM), *(sum(p.minimum for g in gangs for p in podsets(g.root)) for gangs in ([meant], said))


LABELS = ["", *(level["label"] for level in all_backends.TOPOLOGY["spec"]["pools"][0]["levels"])]


def wishes(unit: UnitIntent, held: int = 0) -> bool:
    """Whether a preference says more than a requirement on the same pods."""
    chain = [unit]
    while len(chain[-1].units) == 1 and not chain[-1].pods:
        chain.append(chain[-1].units[0])
    held = max(held, *(LABELS.index(each.required) for each in chain))
    more = any(LABELS.index(each.preferred) > held for each in chain)
    return more or any(wishes(each, held) for each in chain[-1].units)


@pytest.mark.parametrize("backend", ORACLES)
def test_nothing_of_anothers_is_read(backend: str) -> None:
    """Objects of other kinds say nothing to a backend, and nothing stops it."""
    strange = {"apiVersion": "example.com/v1", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMember": 1}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIP": "None"}}
    assert ORACLES[backend].read([strange, service]).value == ()
    assert Counter(each.severity for each in ORACLES[backend].read([strange, service]).diagnostics)["error"] == 0


def test_every_backend_has_an_oracle() -> None:
    assert list(ORACLES) == list(BACKENDS)
