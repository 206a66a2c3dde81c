"""Rendered pods of an MPI job meet through real ssh, and a real mpirun starts ranks on all of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bayplan import pipeline
from bayplan.text import document
from bayplan.text.emit import emit
from support import TOPOLOGY, WORKER, Pod, pods, run, workflow
from tools import pod_runner
from tools.pod_runner import Image, Scene

PROGRAMS = ("mpirun", "sshd", "ssh", "ssh-keygen")
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
MISSING = [name for name in PROGRAMS if not shutil.which(name, path=PATH)] + pod_runner.lacking()

PROGRAM = """
echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname), pod $NODE_RANK, $FLAVOR, $rank, $PWD"
sleep 1
exit "$STATUS"
"""


def _run(folder: Path, replicas: int, kind: str, /, **env: str) -> list[str]:
    """What the pods print, and `status N` for each of them."""
    documents = _documents(replicas, kind, **env)
    if "FLAVOR" not in env:
        key = folder / "ssh-privatekey"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        metadata = {"name": "train-mpi", "namespace": "ml"}
        documents.append({"kind": "Secret", "metadata": metadata, "stringData": {key.name: key.read_text()}})
    report = _report(folder, documents)
    printed = [line[8:] for text in report.logs.values() for line in text.splitlines()]
    return [*(f"status {code}" for code in report.codes.values()), *printed]


def _report(folder: Path, documents: list[dict[str, Any]]) -> pod_runner.Report:
    users = Path("/etc/passwd").read_text() + "sshd:x:99:99::/run/sshd:/usr/sbin/nologin\n"
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    image = Image({"PATH": PATH, **kept}, {"/tmp": "/tmp"}, {"/etc/passwd": users, "/run/sshd/empty": ""})
    return pod_runner.run(Scene(documents, {"": image}, seconds=90), folder / "run")


def _documents(replicas: int, kind: str = "auto", /, **env: str) -> list[dict[str, Any]]:
    command = ["mpirun", "--map-by", "slot", "sh", "-c", PROGRAM]
    pod_set = {"name": "worker", "replicas": replicas, "launcher": "mpi", "command": command, "image": "mpi:1"}
    pod_set["env"] = {"FLAVOR": "bitter sweet", "MPI_SLOTS": 2, **env}
    return run(workflow({"name": "main", "workload": kind, "podSets": [pod_set]})).documents


def _shown(pods_: Iterable[Pod]) -> list[tuple[str, str, str]]:
    return [(each.name, each.env["NODE_RANK"], each.env["NNODES"]) for each in pods_]


def test_the_first_pod_is_the_launcher_of_an_mpi_job() -> None:
    documents = _documents(3, "mpijob")
    (job,) = (each for each in documents if each["kind"] == "MPIJob")
    launcher, worker = (job["spec"]["mpiReplicaSpecs"][name] for name in ("Launcher", "Worker"))
    assert (launcher["replicas"], worker["replicas"], job["spec"]["slotsPerWorker"]) == (1, 2, 2)
    assert job["spec"]["runLauncherAsWorker"] is True
    assert "restartPolicy" not in launcher["template"]["spec"]  # mpi-operator reads that of the replicas
    assert launcher["template"]["spec"]["containers"][0]["command"][2:4] == ["mpirun", "--map-by"]
    assert worker["template"]["spec"]["containers"][0]["command"][-2:] == ["sh", "/etc/mpi-launcher/launch"]
    assert not [each for pod in pods(documents) for each in pod.spec["volumes"] if "secret" in each]
    assert _shown(pods(documents)) == [
        ("train-launcher", "0", "3"),
        ("train-worker-0", "1", "3"),
        ("train-worker-1", "2", "3"),
    ]
    hosts = {pod.env["MASTER_ADDR"] for pod in pods(documents)}
    assert hosts == {"train-launcher.train.ml.svc.cluster.local"}


def test_a_single_pod_is_a_launcher_without_workers() -> None:
    (job,) = (each for each in _documents(1, "mpijob") if each["kind"] == "MPIJob")
    assert job["spec"]["mpiReplicaSpecs"].keys() == {"Launcher"}


@pytest.mark.parametrize(
    ("scheduler", "changes", "kind"),
    [
        ("kai", {}, "MPIJob"),
        ("kueue", {}, "MPIJob"),
        ("volcano", {"maxRestarts": 2, "ttlSecondsAfterFinished": 60}, "MPIJob"),
        ("kai", {"workload": "jobset"}, "JobSet"),
        ("native", {}, "JobSet"),  # the CRD of mpi-operator drops `schedulingGroup`
        ("kai", {"lead": "worker"}, "JobSet"),
    ],
)
def test_auto_is_an_mpi_job_where_the_operator_is(scheduler: str, changes: dict[str, Any], kind: str) -> None:
    pod_set = {**WORKER, "replicas": 2, "launcher": "mpi", "command": ["mpirun", "train"]}
    versions = {"mpiOperator": "0.8", "kubernetes": "1.37", "kueue": "0.19", "kai": "0.17", "draDriver": "25.12"}
    topology = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "versions": versions}}
    flow = workflow({"name": "main", **changes, "podSets": [pod_set]}, queue="research")
    found = run(flow, topology, scheduler=scheduler)
    kinds = {each["kind"] for each in found.documents}
    assert kinds & {"MPIJob", "JobSet"} == {kind}, found.diagnostics


@pytest.mark.parametrize("kind", ["jobset", "job", "pods"])
def test_each_kind_of_workload_has_the_launcher(kind: str) -> None:
    for pod in pods(_documents(2, kind)):
        (container,) = pod.spec["containers"]
        assert container["command"][:3] == ["sh", "/etc/mpi-launcher/launch", "mpirun"]
        assert {"name": "mpi-ssh", "secret": {"secretName": "train-mpi", "optional": True}} in pod.spec["volumes"]
        assert (pod.env["MPI_SLOTS"], pod.env["MPI_ADDRESS"], pod.env["NNODES"]) == ("2", "<status.podIP>", "2")


@pytest.mark.parametrize("scheduler", ["kai", "volcano", "kueue", "koordinator", "slurm-bridge", "none"])
def test_lint_accepts_launchers(scheduler: str) -> None:
    worker = {**WORKER, "replicas": 2, "launcher": "mpi", "command": ["mpirun", "train"]}
    made = run(workflow({"name": "main", "podSets": [worker]}), scheduler=scheduler).compiled
    assert made
    text = "".join(emit(made.documents))
    read = document.read("m.yaml", text.encode(), "manifest", own=False).value or ()
    topology = document.Document("topology.yaml", "", 0, TOPOLOGY)
    outcome, _ = pipeline.lint(pipeline.LintRequest(read, topology, scheduler))
    assert [each for each in outcome.diagnostics if each.severity != "info"] == []


def test_slurm_requests_at_least_the_cpus_of_a_pod() -> None:
    worker = {**WORKER, "replicas": 2, "launcher": "mpi", "command": ["mpirun", "train"], "resources": {"cpu": "10"}}
    del worker["image"]
    gang = {"name": "main", "backends": {"slurm": {"container": "none"}}, "podSets": [worker]}
    made = run(workflow(gang), scheduler="slurm").compiled
    assert made
    text = "".join(emit(made.documents))
    assert "--ntasks-per-node=4\n" in text
    assert "--cpus-per-task=3\n" in text


def _script(folder: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """What the script prints and returns in a pod without sshd."""
    (text,) = next(each["data"] for each in _documents(2) if each["kind"] == "ConfigMap").values()
    (folder / "launch").write_text(text)
    given = {"PATH": "/usr/bin:/bin", "NODE_RANK": "0", "MPI_SLOTS": "2", "MPI_ADDRESS": "10.0.0.1"}
    given |= {"MPI_FOLDER": str(folder), **env}
    words = ["sh", "launch", *command]
    return subprocess.run(
        words, cwd=folder, env=given, input="from outside", capture_output=True, text=True, timeout=30, check=False
    )


def test_a_single_pod_has_a_hostfile_and_needs_no_ssh(tmp_path: Path) -> None:
    show = 'cat "$OMPI_MCA_orte_default_hostfile" "$HYDRA_HOST_FILE"; echo "$FLAVOR"; exit 3'
    done = _script(tmp_path, "sh", "-c", show, NNODES="1", MPI_BEFORE="export FLAVOR=sweet")
    assert (done.stdout, done.returncode) == ("10.0.0.1 slots=2\n10.0.0.1:2\nsweet\n", 3)


def test_the_command_has_the_standard_input_and_signals_of_the_container(tmp_path: Path) -> None:
    wait = 'cat; trap "exit 4" INT; kill -INT "$PPID"; while :; do sleep 0.1; done'
    done = _script(tmp_path, "sh", "-c", wait, NNODES="1")
    assert (done.stdout, done.returncode) == ("from outside", 4)


def test_a_pod_whose_sshd_ends_fails_with_the_reason(tmp_path: Path) -> None:
    programs = {"sshd": "echo the port is taken >&2; exit 1", "ssh": "exit 255", "ssh-keygen": "echo public"}
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = _script(tmp_path, "mpirun", NNODES="2", NODE_RANK="1", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.stderr.splitlines()[-2:] == ["the port is taken", "mpi: sshd has ended, see its messages"]
    assert done.returncode == 1


def test_an_image_without_ssh_fails_with_the_reason(tmp_path: Path) -> None:
    done = _script(tmp_path, "mpirun", NNODES="2", PATH=_programs(tmp_path))
    assert (done.stderr, done.returncode) == (
        "mpi: the image has no sshd: install openssh-server and openssh-client in it\n",
        1,
    )


def _programs(folder: Path) -> str:
    """A PATH with only what every image has."""
    for name in ("sh", "mkdir", "rm", "mv", "ls", "sleep"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


@pytest.mark.skipif(bool(MISSING), reason=f"without {', '.join(MISSING)}")
@pytest.mark.parametrize(
    ("replicas", "kind", "status"),
    [(3, "jobset", 0), (2, "pods", 3), (1, "job", 0), (3, "mpijob", 0), (1, "mpijob", 3)],
)
def test_mpirun_starts_ranks_on_all_pods(tmp_path: Path, replicas: int, kind: str, status: int) -> None:
    # names of a shell's usual variables; a tree of daemons in which each one starts the next
    own = dict.fromkeys(("folder", "rank", "limit", "port", "status"), "own")
    env = {"STATUS": str(status), "OMPI_MCA_routed_radix": "1", "PRTE_MCA_routed_radix": "1"}
    lines = _run(tmp_path, replicas, kind, **env, **own)
    ranks = sorted(line for line in lines if " of " in line and ", pod " in line)
    hosts = [str(pod.host).partition(".")[0] for pod in pods(_documents(replicas, kind))]
    places = [f"{hosts[rank // 2] or hosts}, pod {rank // 2}, bitter sweet, own, /" for rank in range(2 * replicas)]
    assert ranks == [f"{rank} of {2 * replicas} on {place}" for rank, place in enumerate(places)], lines
    assert [line for line in lines if line.startswith("status ")] == [f"status {status}"] * replicas


@pytest.mark.skipif(bool(MISSING), reason=f"without {', '.join(MISSING)}")
def test_mpi_operator_starts_a_launcher_again_beside_its_workers(tmp_path: Path) -> None:
    """Its workers join again, and end when mpi-operator deletes them."""
    program = 'echo "rank $OMPI_COMM_WORLD_RANK of pod $NODE_RANK"; sleep 2; exit 3'
    pod_set = {"name": "worker", "replicas": 2, "launcher": "mpi", "image": "mpi:1", "env": {"MPI_SLOTS": 1}}
    pod_set["command"] = ["mpirun", "sh", "-c", program]
    gang = {"name": "main", "workload": "mpijob", "maxRestarts": 1, "podSets": [pod_set]}
    report = _report(tmp_path, run(workflow(gang)).documents)
    assert report.ends == {"MPIJob/train": "Failed: BackoffLimitExceeded"}
    said = [line[8:] for text in report.logs.values() for line in text.splitlines()]
    for number in range(2):
        assert said.count(f"rank {number} of pod {number}") == 2, said
    launchers = [code for name, code in report.codes.items() if "-launcher-" in name]
    assert launchers == [3, 3]
    assert report.codes["train-worker-0/worker"] == 0


@pytest.mark.skipif(bool(MISSING), reason=f"without {', '.join(MISSING)}")
def test_pods_without_the_key_fail_with_the_reason(tmp_path: Path) -> None:
    lines = _run(tmp_path, 2, "pods", FLAVOR="no key")
    assert lines[:2] == ["status 1"] * 2
    assert sum("/etc/mpi-launcher/ssh has no key" in line for line in lines) == 2


@pytest.mark.skipif(bool(MISSING), reason=f"without {', '.join(MISSING)}")
def test_the_first_pod_does_not_wait_forever(tmp_path: Path) -> None:
    lines = _run(tmp_path, 2, "pods", NNODES="3", MPI_START_SECONDS="5")
    assert lines[:2] == ["status 1"] * 2
    assert "mpi: of 3 pods, those with these ranks joined within 5 seconds: 0 1" in lines
