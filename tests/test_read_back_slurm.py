"""The way back from sbatch scripts, and what a scheduler that keeps only Slurm's promises makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan import pipeline
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.manifest import File
from bayplan.model.plan import GangPlan, Unit, walk
from bayplan.text import document
from bayplan.topologies import hostlist
from oracle import ORACLES
from tools import golden, slurm_job, slurm_placer
from tools.effort import examples
from tools.golden import sources

SLURM = ORACLES["slurm"]
GAPS = frozenset(f"F{number}" for number in (602, 604, 608, 614, 626, 631, 642, 665, 667, 680, 704, 712, 713, 715, 750))
PROPERTY = settings(
    max_examples=examples(10, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def small() -> dict[str, Any]:
    """2 zones of 2 spines of 3 racks of 5 nodes, 4 of them planned: a little of everything that Slurm must be told."""
    spec = random_workflows.TOPOLOGY["spec"]
    (pool,) = spec["pools"]
    zone, spine, rack = pool["levels"]
    rows = [
        {"path": f"z{z}/s{z}{s}/r{z}{s}{r}", "nodes": f"n{z}{s}{r}-[1-5]"}
        for z in range(2)
        for s in range(2)
        for r in range(3)
    ]
    pools = [{**pool, "levels": [zone, spine, {**rack, "plan": 4}], "domains": rows}]
    return {**random_workflows.TOPOLOGY, "spec": {**spec, "pools": pools}}


def compiled(flow: dict[str, Any], version: str, topology: dict[str, Any]) -> tuple[pipeline.Compiled, Any]:
    gangs = [{**gang, "workload": "auto"} for gang in flow["spec"]["gangs"]]
    flow = {**flow, "spec": {**flow["spec"], "gangs": gangs}}
    request = pipeline.Request(
        document.Document("workflow.yaml", "", 0, flow),
        document.Document("topology.yaml", "", 0, topology),
        scheduler="slurm",
        target={"slurm": version},
        accept=GAPS,
        cluster_objects=True,
    )
    outcome, _ = pipeline.compile(request)
    if outcome.value is None:
        assume(False)
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value, outcome.diagnostics


def texts(made: pipeline.Compiled) -> list[str]:
    return [each.text for each in made.documents if isinstance(each, File) and not each.name.startswith("topology")]


@PROPERTY
@given(flow=random_workflows.workflows(), version=st.sampled_from(golden.VERSIONS["slurm"]))
def test_scripts_read_back_as_the_plans_intent(flow: dict[str, Any], version: str) -> None:
    made, _ = compiled(flow, version, random_workflows.TOPOLOGY)
    read = SLURM.read([{"text": text} for text in texts(made)])
    assert read.diagnostics == ()
    assert read.value == SLURM.intent(support.of_objects(made.planned), made.planned.target)


def group(size: int, replicas: int, required: str = "rack", **more: Any) -> dict[str, Any]:
    pods = {"name": "w", "replicas": size, "accelerator": {"count": 4}, "image": "x", "command": ["run"]}
    inside = more.pop("groups", None)
    return {
        "name": "g",
        "replicas": replicas,
        "placement": {"required": required},
        "computeDomain": "never",
        **({"groups": inside} if inside else {"podSets": [pods]}),
        **more,
    }


SHAPES: dict[str, dict[str, Any]] = {
    "racks in a spine": {"placement": {"required": "spine"}, "groups": [group(3, 3)]},
    "racks in a zone": {"placement": {"required": "zone"}, "groups": [group(4, 5)]},
    "full racks in a spine": {"placement": {"required": "spine"}, "groups": [group(4, 3)]},
    "racks anywhere": {"groups": [group(2, 9)]},
    "spines in a zone": {"placement": {"required": "zone"}, "groups": [group(8, 2, "spine")]},
    "a spine": {"placement": {"required": "spine"}, "groups": [group(11, 1, "spine")]},
    "halves of quarters": {"groups": [group(0, 2, "spine", groups=[{**group(4, 2), "name": "q"}])]},
    "an odd last one": {"placement": {"required": "zone"}, "groups": [group(7, 1) | {"size": 3}]},
    "two small groups": {"placement": {"required": "spine"}, "groups": [group(2, 2)]},
    "apart": {"groups": [group(2, 3, separate="rack")]},
}
for shape in SHAPES.values():
    for each in shape["groups"]:
        if "size" in each:
            del each["replicas"]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_whatever_slurm_does_these_hold(shape: dict[str, Any]) -> None:
    flow = {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "wf", "namespace": "ml"},
        "spec": {"queue": "research", "gangs": [{"name": "a", "rendezvous": "none", **shape}]},
    }
    _, found = compiled(flow, "25.11", small())
    placed = [_placed(flow, seed) for seed in range(25)]
    assert any(placed) != ("F704" in {each.code for each in found})


@PROPERTY
@given(flow=random_workflows.workflows(), seed=st.integers(0, 10**6))
def test_whatever_slurm_does_the_required_levels_hold(flow: dict[str, Any], seed: int) -> None:
    _placed(flow, seed)


def _placed(flow: dict[str, Any], seed: int) -> bool:
    """Unless the gap was named: the plan's units stay in one domain of their level, and ranks with their group."""
    made, found = compiled(flow, "25.11", small())
    (exported,) = [each for each in made.documents if isinstance(each, File) and each.name == "topology.yaml"]
    blocks, sizes = slurm_placer.blocks_of(yaml.load(exported.text, yaml.CSafeLoader)[0], hostlist.expand)
    home = {node: row.path for row in made.planned.plan.topology.pools[0].domains for node in row.nodes}
    jobs = {job[0]["job-name"]: job for text in texts(made) for job in _jobs(text)}
    some = False
    for gang in support.of_objects(made.planned).gangs:
        nodes = [slurm_placer.place(part, blocks, sizes, seed) for part in jobs[gang.name]]
        if all(each is not None for each in nodes):
            some = True
            _hold(made, gang, [each for each in nodes if each], jobs[gang.name], home, found)
    return some


def _jobs(text: str) -> Iterator[list[dict[str, str]]]:
    for job in text.split("#!/bin/bash\n"):
        if "#SBATCH" in job:
            yield slurm_job.sections(f"#!/bin/bash\n{job}")


def _hold(
    made: pipeline.Compiled,
    gang: GangPlan,
    nodes: list[list[str]],
    parts: list[dict[str, str]],
    home: dict[str, tuple[str, ...]],
    found: tuple[Diagnostic, ...],
) -> None:
    """Where each pod stands, by the section and the order of its tasks."""
    from bayplan.plugins.slurm.backend.jobs import (  # which pods share a section is nothing that Slurm could tell
        clusters,
        job,
    )

    sections = job(made.planned.plan, gang, clusters(made.planned.plan, made.planned.target)).sections
    where: dict[str, set[str]] = {}
    for section, held, part in zip(sections, nodes, parts, strict=True):
        tasks = [node for node in held for _ in range(int(part["ntasks-per-node"]))]
        for leaf in section.leaves:
            mine, tasks = tasks[: leaf.pods.replicas], tasks[leaf.pods.replicas :]
            for unit in leaf.path:
                where.setdefault(unit.name, set()).update(mine)
    levels = {level.name: depth + 1 for depth, level in enumerate(made.planned.plan.topology.pools[0].levels)}
    for unit in walk(gang.root):
        if unit.separate and not _lost(unit, found):
            racks = {home[node] for node in where[unit.name]}
            others = (where[u.name] for u in walk(gang.root) if u.route == unit.route and u.name != unit.name)
            assert not any(racks & {home[node] for node in each} for each in others), unit.name
        if unit.required in levels and not _lost(unit, found):
            assert len({home[node][: levels[unit.required]] for node in where[unit.name]}) == 1, unit.name


LOST = {"F602", "F631", "F625", "F638"}


def _lost(unit: Unit, found: tuple[Diagnostic, ...]) -> bool:
    return any(each.code in LOST and each.route[: len(unit.route)] == unit.route for each in found)


OTHERS = """#!/bin/bash -l
#SBATCH -J nemotron -p batch
#SBATCH -N 1536
#SBATCH --segment 16   # one rack
#SBATCH --exclusive --mem=0
##SBATCH --nodes=2
#SBATCH --output="logs/%j out"
srun train
#SBATCH --nodes=4
"""


def test_scripts_of_others_are_read_too() -> None:
    (gang,) = SLURM.read([{"text": OTHERS}]).value or ()
    assert (gang.name, gang.queue, len(gang.root.units)) == ("nemotron", "batch", 96)
    assert {unit.pods[0].replicas for unit in gang.root.units} == {16}


@pytest.mark.parametrize("text", ["", "echo", "#SBATCH '", "#SBATCH --nodes=x --segment", "#SBATCH -N"])
def test_odd_scripts_are_read_without_harm(text: str) -> None:
    assert SLURM.read([{"text": text}]).diagnostics == ()


def test_segments_that_do_not_divide_a_job_are_found() -> None:
    found = SLURM.read([{"text": "#SBATCH --nodes=24 --segment=16\n"}]).diagnostics
    assert [each.code for each in found] == ["M790"]


def test_the_pretrain_example_says_what_it_keeps() -> None:
    flow, topology = sources("pretrain")
    made, _ = compiled(flow, "25.11", topology)
    (gang,) = SLURM.read([{"text": text} for text in texts(made)]).value or ()
    assert gang.root.required == "aggregated-block"
    assert [(unit.required, unit.pods[0].replicas) for unit in gang.root.units] == [("block", 16)] * 4
