"""`atOnce`: of the copies of a gang, never more than that run, and as many as that do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import support
from bayplan.model.manifest import File
from tools.run import bayplan

TOPOLOGY: dict[str, Any] = {
    "apiVersion": "bayplan.dev/v1alpha1",
    "kind": "ClusterTopology",
    "metadata": {"name": "hall"},
    "spec": {
        "versions": {"kubernetes": "1.34", "jobset": "0.12"},
        "defaults": {"namespace": "ml", "queue": "sweeps"},
        "pools": [{"name": "h100", "node": {"accelerator": "h100", "count": 8}, "domains": [{"nodes": "n[1-4]"}]}],
        "accelerators": {"h100": {}},
    },
}


def sweep(copies: int, at_once: int | None = None, cards: int = 1, **gang: Any) -> dict[str, Any]:
    pods = {"name": "w", "image": "x.io/t:1", "command": ["t"], "accelerator": {"count": cards}}
    limit = {} if at_once is None else {"atOnce": at_once}
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "sweep"},
        "spec": {"gangs": [{"name": "trial", "replicas": copies, **limit, "podSets": [pods], **gang}]},
    }


def most_at_once(waits: Mapping[str, set[str]]) -> int:
    """The most copies that run together, if each runs as soon as it may, for the same time."""
    done: set[str] = set()
    most = 0
    while len(done) < len(waits):
        running = {name for name in waits.keys() - done if waits[name] <= done}
        assert running
        most, done = max(most, len(running)), done | running
    return most


def chains(documents: list[dict[str, Any]]) -> Iterator[tuple[str, set[str]]]:
    for each in documents:
        if each["kind"] == "JobSet":
            for job in each["spec"]["replicatedJobs"]:
                before = {f"{each['metadata']['name']}/{one['name']}" for one in job.get("dependsOn", ())}
                yield f"{each['metadata']['name']}/{job['name']}", before


@pytest.mark.parametrize(("copies", "at_once"), [(1, 1), (5, 1), (7, 3), (8, 4), (6, 6)])
@pytest.mark.parametrize("scheduler", ["kai", "volcano"])
def test_jobsets(scheduler: str, copies: int, at_once: int) -> None:
    """With `workload: jobset`. By itself, bayplan writes one Indexed Job for copies of one pod."""
    flow = sweep(copies, at_once, workload="jobset")
    waits = dict(chains(support.run(flow, TOPOLOGY, scheduler=scheduler).documents))
    assert (len(waits), most_at_once(waits)) == (copies, at_once)


@pytest.mark.parametrize(("copies", "at_once"), [(5, 1), (7, 3)])
def test_slurm(copies: int, at_once: int) -> None:
    """By a job array."""
    made = support.run(sweep(copies, at_once), TOPOLOGY, scheduler="slurm").compiled
    assert made is not None
    (script,) = (each.text for each in made.documents if isinstance(each, File))
    assert f"#SBATCH --array=0-{copies - 1}%{at_once}\n" in script


@pytest.mark.parametrize(("cards", "fit"), [(8, 4), (5, 4), (4, 8), (3, 8), (1, 32)])
def test_how_many_fit(cards: int, fit: int) -> None:
    """Four nodes of eight cards: so many copies fit, and one more does not."""
    assert (
        support.run(sweep(40, fit, cards), TOPOLOGY, scheduler="kai").codes
        == support.run(sweep(1, None, cards), TOPOLOGY, scheduler="kai").codes
    )
    assert "P554" in support.run(sweep(40, fit + 1, cards), TOPOLOGY, scheduler="kai").codes
    (told,) = (
        each
        for each in support.run(sweep(40, None, cards), TOPOLOGY, scheduler="kai").diagnostics
        if each.code == "P562"
    )
    assert told.message.startswith(f"{fit} of the 40 copies")


@pytest.mark.parametrize(("limit", "fit", "why"), [(11, 2, ': queue "sweeps" holds 11 gpu'), (40, 8, ""), (3, 0, "")])
def test_a_queue_that_holds_fewer_copies_than_the_cluster(limit: int, fit: int, why: str) -> None:
    """With the number of the hint, the plan has no error. If the queue does not hold one copy, that is an error."""
    queue = {"name": "sweeps", "quotas": [{"resource": "gpu", "limit": limit}]}
    topology = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "queues": [queue]}}
    made = support.run(sweep(600, None, 4), topology, scheduler="kai")
    expected = f'{fit} of the 600 copies of gang "trial" fit at a time{why}; the rest waits for room'
    assert [each.message for each in made.diagnostics if each.code == "P562"] == ([expected] if fit else [])
    assert ("P563" in made.codes) == (not fit)
    if fit:
        assert "P563" not in support.run(sweep(600, fit, 4), topology, scheduler="kai").codes
    native = support.run(sweep(600, None, 4), topology, scheduler="native").diagnostics
    assert [each.message[:2] for each in native if each.code == "P562"] == ["8 "]


def test_a_queue_of_so_many_copies_limits_them_by_itself() -> None:
    """By its `parallelism`, a Job does too. A queue that does not hold so many refuses it."""

    def made(limit: int) -> support.Result:
        queue = {"name": "sweeps", "quotas": [{"resource": "gpu", "limit": limit}]}
        topology = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "queues": [queue]}}
        return support.run(sweep(6, 2, 4), topology, scheduler="kueue")

    for limit in (11, 12):
        (job,) = made(limit).kinds("Job")
        assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (2, 6)
    assert "P563" in made(7).codes


@pytest.mark.parametrize(("copies", "at_once"), [(7, 3), (40, 8)])
def test_a_rendered_sweep_has_the_same_plan(copies: int, at_once: int, tmp_path: Path) -> None:
    """Its JobSets are copies again, of which so many must fit. Otherwise each choice of them would be a stage."""
    for name, data in (("workflow", sweep(copies, at_once)), ("topology", TOPOLOGY)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    options = ("-t", "topology.yaml", "-s", "kai")
    assert bayplan("render", "workflow.yaml", *options, "-o", "made.yaml", cwd=tmp_path).returncode == 0
    (own, back) = (
        json.loads(bayplan("plan", source, *options, "--format", "json", cwd=tmp_path).stdout)["workflows"][0]["stages"]
        for source in ("workflow.yaml", "made.yaml")
    )
    assert [[each["gang"] for each in stage["gangs"]] for stage in back] == [
        [each["gang"] for each in stage["gangs"]] for stage in own
    ]
    assert {(each["copies"], each["atOnce"]) for each in back[0]["gangs"]} == {(copies, at_once)}
