"""All backends at all of their versions: what tests need that hold for every one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

import random_workflows
import support
from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.manifests.order import head
from bayplan.model.backend import FEATURES, Need
from bayplan.model.manifest import Many
from bayplan.model.target import Target
from bayplan.planning.fidelity import find_row
from bayplan.text import document
from oracle.intent import GangIntent
from tools import golden

SCHEDULERS: Mapping[str, Mapping[str, Any]] = {"slurm": {"plugin": "block"}}
"""Declared: what a backend wants to know of its cluster before it promises anything, by its word in `schedulers:`."""

TOPOLOGY = deepcopy(random_workflows.TOPOLOGY)
TOPOLOGY["spec"]["schedulers"] = {name: dict(own) for name, own in SCHEDULERS.items() if name in BACKENDS}
"""The cluster of the random workflows, with that."""

GAPS = frozenset(feature.code for feature in FEATURES.values() if not feature.firm)
"""The codes of all losses that a user may accept."""

ACCEPTED: Mapping[str, frozenset[str]] = {"sunk": GAPS}
"""Declared: backends without gangs, which refuse nearly everything. What they write is looked at all the same."""


class At(NamedTuple):
    """One backend at one version of its component."""

    backend: str
    version: str

    @property
    def target(self) -> dict[str, str]:
        """As the pipeline takes it."""
        return {BACKENDS[self.backend].declared.component: self.version}

    def __str__(self) -> str:
        return f"{self.backend}@{self.version}"


def versions(backend: str) -> tuple[str, ...]:
    """The versions that a backend is tested at."""
    return golden.VERSIONS[backend]


ALL = [At(backend, version) for backend in BACKENDS for version in versions(backend)]
NEWEST = [At(backend, versions(backend)[-1]) for backend in BACKENDS]


def at_any_version(backend: str) -> st.SearchStrategy[At]:
    """A backend at one of its versions; the newest, which carries the most, half of the time."""
    known = versions(backend)
    return st.sampled_from([*known, *(known[-1] for _ in known)]).map(lambda version: At(backend, version))


@cache
def kinds(at: At) -> tuple[str, ...]:
    """The workload kinds that a backend takes at a version."""
    declared, target = BACKENDS[at.backend].declared, Target(at.target)
    rows = {kind: find_row(Need(f"workload-{kind}", 1, ()), declared.support, target) for kind in declared.kinds}
    return tuple(kind for kind, row in rows.items() if row and row.fidelity != "absent")


def suited(flow: Mapping[str, Any], at: At) -> dict[str, Any]:
    """The workflow with kinds that the backend takes, in place of those that it does not know."""
    gangs = []
    for gang in flow["spec"]["gangs"]:
        known = gang.get("workload", "auto") in ("auto", *kinds(at))
        gangs.append(gang if known else {**gang, "workload": "auto"})
    return {**flow, "spec": {**flow["spec"], "gangs": gangs}}


def run(flow: Mapping[str, Any], at: At, topology: Mapping[str, Any] = TOPOLOGY) -> support.Result:
    """The workflow as a backend carries it, or the reasons why not."""
    accept = ACCEPTED.get(at.backend, frozenset())
    return support.run(flow, topology, scheduler=at.backend, target=at.target, accept=accept)


def flows(backend: str) -> st.SearchStrategy[tuple[At, dict[str, Any]]]:
    """Random workflows at any version of a backend: of a shape that most know, and of any shape; some are elastic."""
    plain = random_workflows.even()
    made = plain | plain | random_workflows.even(elastic=True) | random_workflows.workflows()
    made |= random_workflows.workflows(elastic=True)
    return st.tuples(at_any_version(backend), made).map(lambda pair: (pair[0], suited(pair[1], pair[0])))


def by_gang(intents: Iterable[GangIntent], names: Iterable[str]) -> dict[str, list[GangIntent]]:
    """Intents by the object names of the gangs that they are of. What is called after a gang belongs to it: names may
    end in a hash, and several gangs of a scheduler may make up one."""
    found: dict[str, list[GangIntent]] = {name: [] for name in names}
    for intent in intents:
        found[max((n for n in found if f"{intent.name}-".startswith(f"{n}-")), key=len)].append(intent)
    return found


def cluster_objects(at: At, topology: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects of the cluster that a backend reads from a topology."""
    source = document.Document("topology.yaml", "", 0, topology)
    outcome, _ = pipeline.cluster_objects(source, at.backend, at.target)
    assert outcome.value is not None, outcome.diagnostics
    assert not any(isinstance(each, Many) for each in outcome.value)
    return list(map(head, outcome.value))


class Tally(Counter[str]):
    """How many random cases a backend carried and how many it refused, by the codes of its refusals."""

    def refused(self, result: support.Result) -> bool:
        """Count a result."""
        errors = sorted({each.code for each in result.diagnostics if each.severity == "error"})
        self["carried" if result.compiled else " ".join(errors)] += 1
        return result.compiled is None

    def enough(self, share: float = 0.1) -> bool:
        """Whether enough of them were carried for a test to mean something."""
        return self["carried"] >= share * self.total()
