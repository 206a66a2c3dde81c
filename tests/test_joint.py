"""`check` and `plan` of several workflows, as users run them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools.run import PRETRAIN, bayplan

TOPOLOGY = f"{PRETRAIN}/topology.yaml"
JOB = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
"""64 pods in 4 racks of one spine. The cluster has two spines of 6 racks."""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Three copies of the job in different formats of files, and a topology of its own."""
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.workflow.yaml").write_text(JOB.replace("name: pretrain", f"name: {name}"))
    (tmp_path / "topology.yaml").write_text(Path(TOPOLOGY).read_text(encoding="utf-8"))
    return tmp_path


def run(jobs: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Runs bayplan in the folder; `one` stands for `one.workflow.yaml`."""
    words = (f"{each}.workflow.yaml" if each in ("one", "two", "three") else each for each in line.split())
    return bayplan(*words, "-t", "topology.yaml", cwd=jobs)


def codes(jobs: Path, line: str) -> list[tuple[str, str]]:
    """The file and the code of each error."""
    done = run(jobs, f"{line} --diagnostics json")
    found = json.loads(done.stdout if line.startswith("check") else done.stderr)["diagnostics"]
    return [(each["file"], each["code"]) for each in found if each["severity"] == "error"]


def nodes(unit: object) -> set[str]:
    """All nodes of a plan in JSON."""
    if isinstance(unit, dict):
        return {*unit.get("nodes", ())}.union(*map(nodes, unit.values()))
    return set().union(*map(nodes, unit)) if isinstance(unit, list) else set()


@pytest.mark.parametrize("mode", ["", "--together"])
def test_the_nodes_of_planned_workflows_are_disjoint(jobs: Path, mode: str) -> None:
    planned = json.loads(run(jobs, f"plan one two --format json {mode}").stdout)["workflows"]
    assert [len(nodes(each)) for each in planned] == [64, 64]
    assert nodes(planned[0]).isdisjoint(nodes(planned[1]))
    alone = json.loads(run(jobs, "plan one two --format json --alone").stdout)["workflows"]
    assert nodes(alone[0]) == nodes(alone[1])


def test_two_of_three_workflows_fit(jobs: Path) -> None:
    assert codes(jobs, "check one two three") == [("three.workflow.yaml", "P566")]
    assert codes(jobs, "check three two one") == [("one.workflow.yaml", "P566")]
    assert codes(jobs, "check one two three --alone") == []
    assert codes(jobs, "check one two three --together") == [("three.workflow.yaml", "P566")]
    assert codes(jobs, "plan one two three") == [("three.workflow.yaml", "P566")]


def test_the_sentence_of_workflows_that_do_not_fit_together(jobs: Path) -> None:
    (line,) = (each for each in run(jobs, "check one two three --together").stdout.splitlines() if "P566" in each)
    names = "one/train, three/train, two/train"
    assert line == (
        "three.workflow.yaml:8:5: error[P566]: the workflows do not fit together: "
        'gang "three/train" does not fit beside "one/train", "two/train": '
        f'together they need 3 instances of "{names}" (64 pods each, at most 1 per node, all in one spine); '
        f'the cluster has room for 2 instances of "{names}"'
    )


def test_what_is_no_list_of_jobs_to_run_is_proven_one_by_one(jobs: Path) -> None:
    assert codes(jobs, "render one two three") == []
    assert run(jobs, "check one two three -s all").returncode == 0
    subprocess.run(["git", "init", "-q"], cwd=jobs, check=True)
    subprocess.run(["git", "add", "."], cwd=jobs, check=True)
    assert codes(jobs, "check topology.yaml") == []
    assert codes(jobs, "check topology.yaml --together") == [("two.workflow.yaml", "P566")]


def test_a_workflow_with_an_error_does_not_hide_the_others(jobs: Path) -> None:
    path = jobs / "two.workflow.yaml"
    path.write_text(path.read_text().replace("required: spine", "required: spin"))
    assert codes(jobs, "check one two three") == [("two.workflow.yaml", "W323")]
    (jobs / "four.workflow.yaml").write_text(JOB.replace("name: pretrain", "name: four"))
    found = codes(jobs, "check one two three four.workflow.yaml")
    assert sorted(found) == [("four.workflow.yaml", "P566"), ("two.workflow.yaml", "W323")]


def test_documents_of_one_file_in_their_order(jobs: Path) -> None:
    texts = [JOB.replace("name: pretrain", f"name: job-{n}") for n in range(3)]
    (jobs / "all.yaml").write_text("---\n".join(texts))
    done = run(jobs, "check all.yaml")
    assert 'no room beside the placement that bayplan chose for workflows "job-0" and "job-1"' in done.stdout
    assert 'note: all.yaml:8:5: gang "train" of workflow "job-0" takes 64 nodes' in done.stdout


def test_each_workflow_has_its_own_scheduler_and_namespace(jobs: Path) -> None:
    for name, scheduler in (("one", "kai"), ("two", "kueue"), ("three", "kai")):
        path = jobs / f"{name}.workflow.yaml"
        text = path.read_text().replace("spec:\n", f"spec:\n  scheduler: {scheduler}\n", 1)
        path.write_text(text.replace("namespace: ml", f"namespace: {'ml' if name == 'one' else name}"))
    planned = json.loads(run(jobs, "plan one two --format json").stdout)["workflows"]
    assert [(each["scheduler"], each["namespace"]) for each in planned] == [("kai", "ml"), ("kueue", "two")]
    assert nodes(planned[0]).isdisjoint(nodes(planned[1]))
    assert codes(jobs, "check one two three") == [("three.workflow.yaml", "P566")]


def test_another_format_gets_the_hint_about_keys(jobs: Path) -> None:
    options = "#SBATCH -N 80 --segment=16 --gpus-per-node=4 --ntasks-per-node=1"
    script = f"#!/bin/bash\n{options}\nsrun --container-image=app train\n"
    (jobs / "job.sbatch").write_text(script)
    done = run(jobs, "check one two job.sbatch")
    assert "job.sbatch" in done.stdout
    assert "P566" in done.stdout
    assert "bayplan import job.sbatch" in done.stdout


def test_the_last_line_says_what_was_proven(jobs: Path) -> None:
    words = ["check", "one.workflow.yaml", "two.workflow.yaml", "-t", "topology.yaml"]
    said = bayplan(*words, cwd=jobs, terminal=True).stderr
    assert "2 workflows fit at the same time" in said
    said = bayplan(*words, "--alone", cwd=jobs, terminal=True).stderr
    assert "one: 64 pods fit in north-1/spine-a" in said
    assert "two: 64 pods fit in north-1/spine-a" in said


CHAINS = """
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: chains}
spec:
  gangs:
  - name: side
    podSets: [{name: worker, replicas: 2, wholeNode: true, image: pytorch, command: [train]}]
  - name: first
    podSets: [{name: worker, replicas: 3, wholeNode: true, image: pytorch, command: [train]}]
  - name: second
    dependsOn: [first]
    podSets: [{name: worker, replicas: 4, wholeNode: true, image: pytorch, command: [train]}]
  - name: third
    podSets: [{name: worker, replicas: 2, wholeNode: true, image: pytorch, command: [train]}]
  - name: fourth
    dependsOn: [third]
    podSets: [{name: worker, replicas: 5, wholeNode: true, image: pytorch, command: [train]}]
"""


@pytest.mark.parametrize("mode", ["", "--together"])
def test_gangs_of_several_stages_stay_on_their_nodes(jobs: Path, mode: str) -> None:
    (jobs / "chains.yaml").write_text(CHAINS)
    for line in ("plan chains.yaml", f"plan one chains.yaml {mode}"):
        stages = json.loads(run(jobs, f"{line} --format json").stdout)["workflows"][-1]["stages"]
        gangs = [(gang["gang"], gang) for stage in stages for gang in stage["gangs"]]
        assert len(gangs) > len(dict(gangs)) == 5
        assert all(nodes(gang) == nodes(dict(gangs)[name]) for name, gang in gangs)
        assert all(len(nodes(stage)) == sum(gang["pods"] for gang in stage["gangs"]) for stage in stages)


def test_a_gang_of_several_stages_has_one_row_for_each_pod(jobs: Path) -> None:
    (jobs / "chains.yaml").write_text(CHAINS)
    rows = run(jobs, "plan chains.yaml --format csv").stdout.splitlines()[1:]
    assert len(rows) == 2 + 3 + 4 + 2 + 5
    shown = run(jobs, "plan chains.yaml --format hostfile -o hosts/")
    assert shown.returncode == 0, shown.stderr
    (file,) = jobs.glob("hosts/*chains-side.hostfile")
    assert file.read_text().count("slots=") == 2


def test_rows_name_the_workflow_and_its_namespace(jobs: Path) -> None:
    rows = run(jobs, "plan one two --format csv").stdout.splitlines()
    assert rows[0].startswith("workflow,namespace,rank,")
    assert {row.split(",")[0] for row in rows[1:]} == {"one", "two"}


def test_a_job_that_fits_only_in_part_says_how_much_fits_beside_others(jobs: Path) -> None:
    """192 nodes may be planned: all but 8 of 200 pods without the other job, and 128 of them beside it."""
    elastic = """
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: elastic}
spec:
  gangs:
  - name: e
    rendezvous: none
    podSets: [{name: worker, replicas: 200, minReplicas: 4, accelerator: {count: 4}, image: x, command: [run]}]
"""
    (jobs / "elastic.yaml").write_text(elastic, encoding="utf-8")
    assert "fits with 192 of 200 replicas" in run(jobs, "check elastic.yaml").stdout
    beside = run(jobs, "check one elastic.yaml").stdout
    assert 'beside the placement that bayplan chose for workflow "one", podSet "worker" fits with 128 of 200' in beside
