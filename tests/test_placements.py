"""Backends ask their schedulers for what the workflow asks for: a reference scheduler that knows nothing but the
manifests takes a placement exactly when the workflow allows it.

Placements are good ones (the proof's witness), good ones with one thing spoiled, and random ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import all_backends
import random_workflows
import reference_scheduler
import support
import workflow_oracle
from bayplan.backends import BACKENDS
from bayplan.model.backend import FEATURES, Backend
from bayplan.model.plan import GangPlan, all_pods
from bayplan.planning.fit import Fits, prove
from oracle import ORACLES
from oracle.intent import GangIntent
from test_read_back_everywhere import units
from tools.effort import examples

LOOSER: Mapping[str, tuple[str, str]] = {
    "koordinator": ("", "each domain holds a multiple of a group's pods, not each group one domain"),
    "slurm": ("aggregated-block", "which aggregated block a job comes into is decided by its size"),
}
"""Declared: backends that may take more than the workflow allows, with the word of their intents where they may ("":
always), and why."""

STRICTER: Mapping[str, str] = {
    "slurm": "nodes of a segment share one block, also where a coarser level would do",
}
"""Declared: backends that may take less. What they take is right all the same."""

IMPLIED: Mapping[str, str] = {"slurm": "block"}
"""Declared: what holds for pods of which nothing is said. Slurm keeps a job without segments in one block."""

OPTIONAL = ("optional-pods", "optional-groups", "optional-pods-placed")
"""Features whose loss makes a scheduler take more or less: it may wait for pods that could have been left out."""

LOST = ("required-level", "group-depth", "uneven-groups", "mixed-pod-sets", *OPTIONAL)
"""Features whose loss makes a scheduler take more. Whoever loses them has been told so."""

SPOILED = 8
RANDOM = 4
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

Verdicts = list[tuple[bool, bool]]
Spoil = Callable[[dict[workflow_oracle.Pod, str], Random], None]


@pytest.mark.parametrize("backend", ORACLES)
def test_a_scheduler_takes_a_placement_exactly_when_the_workflow_does(backend: str) -> None:
    tally, verdicts = all_backends.Tally(), Verdicts()

    @settings(max_examples=examples(8, 40), derandomize=True, deadline=None, suppress_health_check=SLOW)
    @given(case=all_backends.flows(backend), seed=st.integers(0, 1 << 32))
    def check(case: tuple[all_backends.At, dict[str, Any]], seed: int) -> None:
        at, flow = case
        result = all_backends.run(flow, at)
        if not tally.refused(result) and not _shares_objects(result):
            verdicts.extend(compared(at, flow, result, Random(seed)))

    check()
    assert tally.enough(), tally
    taken = sum(plan for plan, _ in verdicts)
    assert min(taken, len(verdicts) - taken) > len(verdicts) // 50, "nearly all placements are good, or nearly all bad"


def _shares_objects(result: support.Result) -> bool:
    """Whether one object makes all copies of a gang, which then have no object of their own to read."""
    compiled = result.compiled
    return bool(compiled) and any(g.copies > 1 for each in compiled.planned.shape.workloads for g in each.gangs)


def compared(
    at: all_backends.At, flow: Mapping[str, Any], result: support.Result, random: Random
) -> Iterator[tuple[bool, bool]]:
    """What the workflow and the manifests say of each placement of each gang."""
    where, words, wanted = _nodes(), _words(at), workflow_oracle.gangs(flow)
    read, told = read_gangs(at, result, wanted), told_of(LOST, result, BACKENDS[at.backend])
    stricter = at.backend in STRICTER or told_of(OPTIONAL, result)
    counts = FEATURES["gang"].code not in result.codes  # a lost gang starts pod by pod: then only levels are compared
    for placement in placements(good(result), wanted, SPOILS if counts else (move,), random):
        for gang, unit in wanted.items():
            own = reference_scheduler.of_gang(placement, gang)
            plan = list(workflow_oracle.faults(gang, unit, where, own, counts))
            intents, instances = read[gang]
            found = (reference_scheduler.faults(intent, words, instances, own, counts=counts) for intent in intents)
            scheduler = [fault for faults in found for fault in faults]
            loose = told or may_take_more(at, intents)
            allowed = stricter if scheduler else loose
            same = (not plan) == (not scheduler) or allowed
            assert same, (str(at), gang, plan, scheduler, intents)
            yield not plan, not scheduler


def told_of(features: Collection[str], result: support.Result, backend: Backend | None = None) -> bool:
    """Whether the user has been told of the loss of one of these features, or of the backend's own."""
    own = {feature.code for feature in backend.declared.features.values()} if backend else set()
    return bool(({FEATURES[feature].code for feature in features} | own) & set(result.codes))


def may_take_more(at: all_backends.At, intents: list[GangIntent]) -> bool:
    """Whether that is declared above."""
    word, _ = LOOSER.get(at.backend, ("no word", ""))
    return any(word in (each.required, "") for intent in intents for each in units(intent.root))


@cache
def _nodes() -> workflow_oracle.Where:
    return workflow_oracle.nodes(all_backends.TOPOLOGY)


@cache
def _few() -> workflow_oracle.Where:
    """Some nodes of each rack."""
    return workflow_oracle.nodes(all_backends.TOPOLOGY, most=3)


@cache
def _words(at: all_backends.At) -> workflow_oracle.Where:
    objects = all_backends.cluster_objects(at, all_backends.TOPOLOGY)
    return reference_scheduler.lexicon(objects, workflow_oracle.labels(all_backends.TOPOLOGY))


def read_gangs(
    at: all_backends.At, result: support.Result, wanted: Mapping[str, workflow_oracle.Unit]
) -> dict[str, tuple[list[GangIntent], reference_scheduler.Instances]]:
    """What was read of each gang, and the podSet instances behind each name."""
    read = ORACLES[at.backend].read(result.documents)
    assert read.diagnostics == ()
    found = all_backends.by_gang(read.value or (), wanted)
    assert result.compiled is not None
    shaped = {gang.name: gang for each in result.compiled.planned.shape.workloads for gang in each.gangs}
    planned = {gang.name: gang for gang in result.compiled.planned.plan.gangs}
    implied = IMPLIED.get(at.backend, "")
    return {
        name: ([reference_scheduler.implied(i, implied) for i in found[name]], _instances(planned[name], shaped[name]))
        for name in wanted
    }


def _instances(planned: GangPlan, shaped: GangPlan) -> reference_scheduler.Instances:
    """Every podSet instance under its own name, under that of what it was folded into, and under that without the
    numbers of groups; all of them under no name."""
    made = {pods.name: [(pods.name, pods.replicas)] for pods in all_pods(planned.root)}
    made |= {p.name: [(name, p.replicas) for name in p.instances] for p in all_pods(shaped.root) if p.instances}
    for pods in all_pods(planned.root):
        plain = re.sub(r"-[0-9]+(?=-|$)", "", pods.name)
        if plain not in made or pods.name != plain:
            made.setdefault(f"{plain}/", []).append((pods.name, pods.replicas))
    made[""] = [(pods.name, pods.replicas) for pods in all_pods(planned.root)]
    return made | {name[:-1]: found for name, found in made.items() if name.endswith("/")}


def good(result: support.Result) -> dict[workflow_oracle.Pod, str]:
    """The placement that proves that everything fits."""
    assert result.compiled is not None
    proof = prove(result.compiled.planned.plan)
    assert isinstance(proof, Fits)
    placed: dict[workflow_oracle.Pod, str] = {}
    count: Counter[tuple[str, str]] = Counter()
    for run in (run for stage in proof.witness for run in stage.runs):
        for node in (node for node in run.nodes for _ in range(run.each)):
            placed[run.gang, run.pods, count[run.gang, run.pods]] = node
            count[run.gang, run.pods] += 1
    return placed


def placements(
    witness: workflow_oracle.Placement,
    wanted: Mapping[str, workflow_oracle.Unit],
    spoils: Sequence[Spoil],
    random: Random,
) -> Iterator[workflow_oracle.Placement]:
    """The good one, some that are nearly as good, and some that are none."""
    yield witness
    for _ in range(SPOILED):
        spoiled = dict(witness)
        for _ in range(random.choice([1, 1, 1, 2])):
            random.choice(spoils)(spoiled, random)
        yield spoiled
    for _ in range(RANDOM):
        made: dict[workflow_oracle.Pod, str] = {}
        for gang, unit in wanted.items():
            made |= _scattered(gang, unit, sorted(_few()), random)
        yield made


def move(placed: dict[workflow_oracle.Pod, str], random: Random) -> None:
    """One pod over a border of some level, and as far as need be."""
    if not placed:
        return
    pod = random.choice(sorted(placed))
    level, here = random.choice(list(random_workflows.LEVELS)), _nodes()[placed[pod]]
    above = random_workflows.LEVELS[: random_workflows.LEVELS.index(level)]
    near = [
        node
        for node, there in _few().items()
        if there[level] != here[level] and all(there[each] == here[each] for each in above)
    ]
    placed[pod] = random.choice(near or sorted(_few()))


def swap(placed: dict[workflow_oracle.Pod, str], random: Random) -> None:
    """Two pods."""
    if len(placed) > 1:
        one, other = random.sample(sorted(placed), 2)
        placed[one], placed[other] = placed[other], placed[one]


def lose(placed: dict[workflow_oracle.Pod, str], random: Random) -> None:
    """One pod does not start."""
    if placed:
        del placed[random.choice(sorted(placed))]


def lose_all(placed: dict[workflow_oracle.Pod, str], random: Random) -> None:
    """No pod of one podSet instance starts, or of one group instance."""
    if placed:
        gang, name, _ = random.choice(sorted(placed))
        stem = name.rpartition("-")[0] if random.random() < 0.5 else name
        for pod in [pod for pod in placed if pod[0] == gang and f"{pod[1]}-".startswith(f"{stem}-")]:
            del placed[pod]


SPOILS: tuple[Spoil, ...] = (move, move, swap, lose, lose_all)


def _scattered(
    gang: str, unit: workflow_oracle.Unit, among: list[str], random: Random
) -> dict[workflow_oracle.Pod, str]:
    """Pods somewhere; mostly in one domain of the level that their unit requires, or of one that it does not."""
    level = random.choice([unit.required, unit.required, unit.required, "", "spine"])
    if level:
        domain = _few()[random.choice(among)][level]
        among = [node for node in among if _few()[node][level] == domain] or among
    placed = {(gang, pods.name, n): random.choice(among) for pods in unit.pods for n in range(pods.replicas)}
    for group in unit.groups:
        for member in group.members:
            placed |= _scattered(gang, member, among, random)
    return placed
