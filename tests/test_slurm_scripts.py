"""What sbatch scripts do, by running them: every rank, every master, every file, and when a gang ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
import support
from bayplan import pipeline
from bayplan.model.manifest import File
from bayplan.model.plan import GangPlan, all_pods
from bayplan.text import document
from tools import golden, slurm_job

NAMES = {"W301", "P513"}
ACCEPTED = frozenset(
    f"F{number}"
    for number in (602, 604, 608, 614, 616, 625, 626, 631, 638, 642, 665, 667, 680, 681, 704, 712, 713, 715, 750)
)


def compiled(flow: dict[str, Any], version: str = "25.11", topology: dict[str, Any] | None = None) -> pipeline.Compiled:
    one = document.Document("workflow.yaml", "", 0, flow)
    other = document.Document("topology.yaml", "", 0, topology or support.TOPOLOGY)
    request = pipeline.Request(one, other, scheduler="slurm", target={"slurm": version}, accept=ACCEPTED)
    outcome, _ = pipeline.compile(request)
    if NAMES & {each.code for each in outcome.diagnostics}:
        assume(False)
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value


def scripts(made: pipeline.Compiled) -> dict[str, str]:
    """Job name -> its script."""
    (file,) = made.documents
    assert isinstance(file, File)
    slurm_job.check(file.text)
    if file.name.endswith(".sbatch"):
        return {file.name.removesuffix(".sbatch"): file.text}
    ran = slurm_job.run(file.text, set())
    assert (ran.status, ran.stderr) == (0, "")
    return {slurm_job.sections(text)[0]["job-name"]: text for _, text in ran.jobs}


def as_sbatch(flow: dict[str, Any]) -> dict[str, Any]:
    gangs = [{**gang, "workload": "auto"} for gang in flow["spec"]["gangs"]]
    return {**flow, "spec": {**flow["spec"], "gangs": gangs}}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow=random_workflows.workflows(), version=st.sampled_from(golden.VERSIONS["slurm"]))
def test_every_task_has_the_rank_of_its_pod(flow: dict[str, Any], version: str) -> None:
    made = compiled(as_sbatch(flow), version, random_workflows.TOPOLOGY)
    texts = scripts(made)
    for gang in (gang for each in made.planned.shape.workloads for gang in each.gangs):
        slurm_job.check(texts[gang.name])
        ran = slurm_job.run(texts[gang.name], {"run"}, SLURM_ARRAY_TASK_ID=str(gang.copies - 1))
        assert (ran.status, ran.stderr) == (0, "")
        assert sorted(map(_seen, ran.tasks)) == sorted(_wanted(gang))
        _masters_are_rank_0(ran.tasks)


RANKS = ("NODE_RANK", "NNODES", "GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE")


def _seen(task: slurm_job.Task) -> tuple[str, ...]:
    assert all(task.env.get(f"PET_{name}") == task.env.get(name) for name in ("NODE_RANK", "NNODES", "MASTER_ADDR"))
    return tuple(task.env.get(name, "") for name in RANKS) if "NODE_RANK" in task.env else ("",) * 5


def _wanted(gang: GangPlan) -> Iterator[tuple[str, ...]]:
    """By the plan alone: `first + number`, and the group that holds the podSet."""
    for pods in all_pods(gang.root):
        for number in range(pods.replicas):
            if pods.ranks is None:
                yield ("",) * 5
            else:
                rank = pods.ranks
                values = (rank.first + number, rank.nodes, rank.group_index, rank.group_count, rank.group_size)
                yield tuple(map(str, values))


def _masters_are_rank_0(tasks: list[slurm_job.Task]) -> None:
    ranked: dict[str, set[str]] = {}
    for task in tasks:
        if "NODE_RANK" in task.env:
            ranked.setdefault(task.env["MASTER_ADDR"], set()).add(task.env["NODE_RANK"])
            assert (task.env["NODE_RANK"] == "0") <= (task.env["MASTER_ADDR"] == task.env["NODE"])
    assert all("0" in ranks for ranks in ranked.values())


def gang(**changes: Any) -> dict[str, Any]:
    pods = {**support.WORKER, "replicas": 4, "command": ["work"], **changes.pop("pods", {})}
    return {"name": "train", "podSets": [pods], **changes}


def ran(flow: dict[str, Any], commands: set[str] | None = None, **env: str) -> slurm_job.Ran:
    (text,) = scripts(compiled(flow)).values()
    return slurm_job.run(text, commands or {"work"}, **env)


def test_kubernetes_references_become_the_shells() -> None:
    env = {"A": "it's $(MASTER_PORT)", "B": "$(A) and $(NOBODY)", "C": "$$(A)"}
    pods = {"env": env, "command": ["work", "$(B)"], "args": ["--rank=$(NODE_RANK)", "$HOME `date`"]}
    tasks = ran(support.workflow(gang(pods=pods))).tasks
    assert sorted(task.words for task in tasks) == [
        ["it's 29500 and $(NOBODY)", f"--rank={rank}", "$HOME `date`"] for rank in range(4)
    ]
    assert tasks[0].env["C"] == "$(A)"


def test_names_that_are_no_variables_are_set_too() -> None:
    (text,) = scripts(compiled(support.workflow(gang(pods={"env": {"A": "x y", "odd.name": "$(A)"}})))).values()
    assert "exec env odd.name='x y' work" in text.replace('odd.name="${A}"', "odd.name='x y'")


def test_the_users_own_ranks_stay() -> None:
    tasks = ran(support.workflow(gang(pods={"env": {"NODE_RANK": "7", "PET_NNODES": "9"}}))).tasks
    assert {task.env["NODE_RANK"] for task in tasks} == {"7"}
    assert all("PET_NODE_RANK" not in task.env and "NNODES" not in task.env for task in tasks)


FILES = {"/opt/run.sh": "#!/bin/sh\necho 'hi' $X\nFILE\n", "/opt/cut": "no line feed", "/opt/bin": {"base64": "AAEC"}}


def test_files_reach_the_nodes_as_they_are(tmp_path: Path) -> None:
    (text,) = scripts(compiled(support.workflow(gang(pods={"files": FILES})))).values()
    result = slurm_job.run(text.replace("/tmp/", f"{tmp_path}/"), {"work"}, SLURM_JOB_ID="42")
    assert (result.status, result.stderr) == (0, "")
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert held == {
        "42.worker.opt.run.sh": b"#!/bin/sh\necho 'hi' $X\nFILE\n",
        "42.worker.opt.cut": b"no line feed",
        "42.worker.opt.bin": b"\x00\x01\x02",
    }
    assert len(result.sbcast) == 3
    (mounts,) = {line for line in result.options if line.startswith("--container-mounts=")}
    assert [each.rpartition(":")[2] for each in mounts.split(",")] == sorted(FILES)


@pytest.mark.parametrize(("restarted", "again"), [("", True), ("1", True), ("2", False)])
def test_a_gang_starts_again_as_often_as_it_may(restarted: str, again: bool) -> None:
    env = {"EXIT": "3", **({"SLURM_RESTART_COUNT": restarted} if restarted else {})}
    result = ran(support.workflow(gang(maxRestarts=2)), **env)
    assert result.status == 3
    assert any("requeue" in line for line in result.scontrol) == again


LEAD = {"name": "chief", "replicas": 1, "image": "registry.example.com/train:1", "command": ["lead"]}
FOLLOW = {**LEAD, "name": "helper", "replicas": 2, "command": ["sleep", "5"]}


def test_the_end_of_the_lead_is_the_end_of_the_gang() -> None:
    flow = support.workflow({"name": "train", "lead": "chief", "podSets": [FOLLOW, LEAD]})
    result = ran(flow, {"lead"})
    assert (result.status, len(result.tasks)) == (0, 1)


@pytest.mark.parametrize(("ignored", "status"), [(True, 0), (False, 7)])
def test_a_failure_beside_the_lead_ends_the_gang_unless_it_is_ignored(ignored: bool, status: int) -> None:
    pods = [{**FOLLOW, "command": ["sh", "-c", "exit 7"]}, {**LEAD, "command": ["sleep", "1"]}]
    own = {"name": "train", "lead": "chief", "ignoreNonleadFailures": ignored, "podSets": pods}
    result = ran(support.workflow(own), set())
    assert result.status == status
    assert ("Step 0 failed with status 7. The job ignores this." in result.stderr) == ignored


def test_gangs_wait_for_each_other() -> None:
    first, second = gang(name="first"), {**gang(name="second"), "dependsOn": ["first"]}
    (file,) = compiled(support.workflow(first, second)).documents
    assert isinstance(file, File)
    result = slurm_job.run(file.text, set())
    assert [words for words, _ in result.jobs] == [
        "--parsable",
        "--parsable --dependency=afterok:1 --kill-on-invalid-dep=yes",
    ]


@pytest.mark.parametrize(
    ("gate", "words"), [("NvidiaImex", "SwitchType=switch/nvidia_imex"), ("Pyxis", "the plugin pyxis and enroot")]
)
@pytest.mark.parametrize(("state", "severity"), [(None, ["info"]), (False, ["error"]), (True, [])])
def test_plugins_are_named_unless_the_topology_has_them(
    gate: str, words: str, state: bool | None, severity: list[str]
) -> None:
    gates = {} if state is None else {gate: state}
    topology = {
        **support.TOPOLOGY,
        "spec": {**support.TOPOLOGY["spec"], "schedulers": {"slurm": {"featureGates": gates}}},
    }
    found = support.run(support.workflow(support.pretrain()), topology, scheduler="slurm", accept=ACCEPTED).diagnostics
    assert [each.severity for each in found if each.code == "F689" and words in each.message] == severity


def test_hosts_are_nodes_that_the_script_looks_up() -> None:
    pods = {"command": ["work", "@chief@"], "files": {"/opt/hosts": "chief is @chief@\n"}}
    flow = support.workflow(gang(hosts={"@chief@": "worker/2"}, pods=pods))
    assert {task.words[0] for task in ran(flow).tasks} == {"h0n2"}


def test_small_pods_share_a_node() -> None:
    flow = support.workflow(gang(pods={"replicas": 8, "accelerator": {"name": "gb200", "count": 2}}))
    (text,) = scripts(compiled(flow)).values()
    (section,) = slurm_job.sections(text)
    assert (section["nodes"], section["ntasks-per-node"], section["gpus-per-node"]) == ("4", "2", "4")
    result = slurm_job.run(text, {"work"})
    assert sorted(task.env["NODE_RANK"] for task in result.tasks) == list(map(str, range(8)))
    assert "--gpus-per-task=2" in result.options


@pytest.mark.parametrize(
    ("resources", "mem", "segments"), [({"memory": "64Gi"}, [None, "64G"], [None, "2"]), ({}, [None] * 2, ["2", "0"])]
)
def test_sections_take_nothing_from_earlier_ones(
    resources: dict[str, str], mem: list[str | None], segments: list[str | None]
) -> None:
    """sbatch passes `--mem` and `--segment` on to later sections of a heterogeneous job."""
    worker = {**support.WORKER, "replicas": 2, "command": ["work"], "resources": resources}
    logger = {"name": "logger", "replicas": 1, "image": worker["image"], "command": ["work"]}
    group = {"name": "rack", "replicas": 2, "placement": {"required": "rack"}, "podSets": [worker]}
    flow = support.workflow({"name": "train", "groups": [group, {"name": "log", "podSets": [logger]}]})
    (text,) = scripts(compiled(flow)).values()
    found = slurm_job.sections(text)
    assert ([each.get("mem") for each in found], [each.get("segment") for each in found]) == (mem, segments)
