"""`plan` of rendered manifests: gangs, groups, levels, pods, minimums, pools and nodes as in `plan` of the workflow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import random_existing
import support
import test_augment_backends as placing
from bayplan import pipeline
from bayplan.augment import reading
from bayplan.cli import plan as shown
from bayplan.formats import documents
from bayplan.manifests.order import expanded
from bayplan.model.augment import AugmentRequest
from bayplan.model.formats import Source
from bayplan.model.manifest import Object
from bayplan.model.plan import Plan, all_pods, walk
from bayplan.pipeline import Planned, Request
from bayplan.planning.existing import with_parts
from bayplan.planning.fit import diagnose
from bayplan.text.document import Document
from tools.effort import LONG, examples
from tools.golden import ACCEPTED, SCRIPTS, VERSIONS, Case, cases
from tools.run import EXAMPLES

UNSAID = {
    "koordinator": {"osmo-best-effort"},
    "kueue": {"osmo-best-effort", "torchx-hostdevice"},
    "native": {
        *("dra-gpus", "elastic", "osmo-best-effort", "rdma-hostnetwork", "torchx-hostdevice", "torchx-macvlan"),
    },
    "none": {"elastic"},
    "slurm-bridge": {"osmo-best-effort", "rdma-hostnetwork"},
    "volcano": {"torchx-hostdevice"},
}
"""Scheduler -> the examples with preferred levels or minimums that its manifests cannot have."""


OTHERWISE = {("kueue", "sweep"), ("kai", "disaggregated")}
"""Kueue starts the copies of `atOnce` by the quota of the queue, which is not in the manifests. Grove makes a gang of
its own of each replica beyond `minReplicas`."""


@pytest.mark.parametrize("backend", [each for each in VERSIONS if each not in SCRIPTS])
def test_manifests_have_the_plan_of_their_workflow(backend: str) -> None:
    compared, unsaid = 0, set()
    for case in {case.path: case for case in cases() if LONG or case.version == VERSIONS[case.backend][-1]}.values():
        if case.backend == backend and (backend, case.example) not in OTHERWISE and (both := _plans(case)):
            of_workflow, of_manifests = both
            differing = [*_differences("", _as_data(of_workflow), _as_data(of_manifests))]
            lost = [each for each in differing if _is_unsaid(backend, *each)]
            assert differing == lost, case
            unsaid |= (
                {case.example} if any(not each[0].startswith((".queue", ".scheduler")) for each in lost) else set()
            )
            compared += 1
    assert unsaid == UNSAID.get(backend, set())
    assert compared > 10 or backend in ("sunk", "slurm-bridge")


def _is_unsaid(backend: str, path: str, _: Any, read: Any) -> bool:
    """A preferred level; the queue and, because it starts pods one by one, the minimums of the default scheduler."""
    minimum = backend == "none" and path.startswith(".minimums")
    queue = backend in ("none", "native") and path.startswith(".queue")
    default = backend == "native" and path == ".scheduler" and read == "none"  # pods without a group
    return ((path.endswith(".preferred") or queue) and not read) or minimum or default


def _plans(case: Case) -> tuple[Planned, Planned] | None:
    """The plan of an example, and that of its manifests; None if the scheduler does not run it."""
    (flow,), (cluster,) = (
        documents(name, (EXAMPLES / case.example / f"{name}.yaml").read_bytes(), name, Source()).value or ()
        for name in ("workflow", "topology")
    )
    accept = frozenset(ACCEPTED.get(case.backend, ())[1:])
    request = Request(flow, cluster, scheduler=case.backend, target=case.target, accept=accept)
    compiled = pipeline.compile(request)[0].value
    if compiled is None:
        return None
    objects = tuple(Object((f"manifest:{n}",), each) for n, each in enumerate(expanded(compiled.documents)))
    read = reading.plans(AugmentRequest(objects, cluster, target=case.target))[0]
    assert not [each for each in read.diagnostics if each.severity == "error"], case
    (one,) = read.value or ()
    assert one.planned is not None, (case, one.diagnostics)
    parted = with_parts(compiled.planned.plan, compiled.planned.shape)  # as the manifests name the parts of MPIJobs
    return compiled.planned._replace(plan=parted, fits=diagnose(parted).value), one.planned


def _as_data(planned: Planned) -> Any:
    """What `plan` shows, and the minimums. Manifests have ranks only as the environment of pods."""
    (flow,) = json.loads(shown.as_json([planned], slack=False, changed={}))["workflows"]
    return {**_without_ranks(flow), "minimums": [*_minimums(planned.plan)]}


def _without_ranks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ranks(each) for key, each in value.items() if key not in ("firstRank", "rendezvous")}
    return [_without_ranks(each) for each in value] if isinstance(value, list) else value


def _minimums(plan: Plan) -> Iterator[tuple[str, str, int]]:
    for gang in plan.gangs:
        yield from ((gang.name, pods.name, pods.minimum) for pods in all_pods(gang.root))
        for unit in walk(gang.root):
            yield from ((gang.name, units.name, units.minimum) for units in unit.groups)


def _differences(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            yield from _differences(f"{path}.{key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{path}[{number}]", *pair)
    elif one != other:
        yield path, one, other


@pytest.mark.parametrize("backend", ["kai", "slurm-bridge", "sunk"])
def test_schedulers_have_the_name_that_the_topology_gives_them(backend: str) -> None:
    topology = {**support.TOPOLOGY, "spec": {**support.TOPOLOGY["spec"], "schedulers": NAMED_MINE[backend]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"template": {"spec": {"schedulerName": "mine", "containers": [{"name": "main", "image": "x"}]}}},
    }
    for spec, wanted in ((topology, [backend]), (support.TOPOLOGY, [])):
        request = AugmentRequest((Object(("manifest:0",), job),), Document("topology", "", 0, spec))
        read = reading.plans(request)[0]
        planned = [each.planned for each in read.value or () if each.planned]
        assert [each.backend.declared.name for each in planned] == wanted
        assert [each.code for each in read.diagnostics if each.severity == "error"] == ([] if wanted else ["W643"])


NAMED_MINE: dict[str, Any] = {each: {each: {"schedulerName": "mine"}} for each in ("kai", "slurm-bridge", "sunk")}


@pytest.mark.parametrize("seed", range(examples(6, 60)))
def test_placed_workloads_have_the_plan_of_their_placement(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads of other tools, after `post-render` or kustomize placed them: the same levels over as many pods."""
    chance = Random(seed)
    _, objects, policy = random_existing.case(chance)
    for backend, every in placing.VERSIONS.items():
        made = placing.watched(backend, monkeypatch)
        result = placing.run(objects, backend, chance.choice(every), policy)
        if result.refused or backend in SCRIPTS:
            continue
        after = placing.lived_in([*result.after, *result.added])
        read_objects = tuple(Object((f"manifest:{n}",), each) for n, each in enumerate(after))
        request = AugmentRequest(read_objects, Document("topology", "", 0, support.TOPOLOGY))
        found = reading.plans(request)[0].value or ()
        levels = backend not in ("slurm-bridge", "sunk")  # they have none
        wanted = _levels(made[-1], levels)
        assert sorted(e for each in found if each.planned for e in _levels(each.planned.plan, levels)) == wanted


def _levels(plan: Plan, levels: bool) -> list[Any]:
    """For each gang: its pods, those that claim from a ComputeDomain, and the pods below each required level."""
    gangs = []
    for gang in plan.gangs:
        pods = [*all_pods(gang.root)]
        placed = {(unit.required, sum(each.replicas for each in all_pods(unit))) for unit in walk(gang.root)}
        claiming = sum(each.replicas for each in pods if each.compute_domain)
        required = sorted(each for each in placed if each[0]) if levels else []
        gangs.append((sum(each.replicas for each in pods), claiming, required))
    return sorted(gangs)
