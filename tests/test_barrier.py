"""The barrier: its script in several shells, with real DNS, and in the pods of each kind of workload."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import random_workflows
from bayplan import pipeline
from bayplan.core.package_data import table
from bayplan.kube.pod import cannot_wait
from bayplan.model.workflow import PodSet
from bayplan.text import document
from bayplan.text.emit import emit
from support import TOPOLOGY, WORKER, Result, pods, run, workflow

SHELLS = [
    pytest.param(each, marks=pytest.mark.skipif(not shutil.which(each), reason=f"without {each}"))
    for each in ("dash", "bash", "busybox")
]
SERVICE = "train-ready"

# One file for each question, in order; the last one is the answer from then on.
LISTED = """#!/bin/sh
[ "${argument}" = train-ready ] || exit 2
number=$(ls {folder}/asked | wc -l)
touch "{folder}/asked/$number"
while [ ! -e "{folder}/{program}.$number" ]; do
  number=$((number - 1))
  [ "$number" -ge 0 ] || exit 2
done
cat "{folder}/{program}.$number"
[ -s "{folder}/{program}.$number" ]
"""


def shell(name: str) -> list[str]:
    """The words that start a shell."""
    path = shutil.which(name) or name
    return [path, "sh"] if name == "busybox" else [path]


def ahosts(*addresses: str) -> str:
    """What `getent ahosts` prints: each address for each type of socket, and the full name beside the first."""
    return "".join(f"{each}   {kind}\n" for each in addresses for kind in ("STREAM train-ready.ml.svc", "DGRAM", "RAW"))


def image(folder: Path, answers: dict[str, list[str]]) -> Path:
    """A folder of programs: basic ones, and those of `answers`, which give them one after the other."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    (folder / "asked").mkdir()
    for name in ("sh", "cat", "date", "ls", "wc", "touch", "env"):
        (programs / name).symlink_to(shutil.which(name) or name)
    (programs / "sleep").write_text(f"#!/bin/sh\nexec {shutil.which('sleep')} 0.1\n")
    (programs / "sleep").chmod(0o755)
    for program, texts in answers.items():
        text = LISTED.format(folder=folder, program=program, argument=ARGUMENT[program])
        (programs / program).write_text(text)
        (programs / program).chmod(0o755)
        for number, text in enumerate(texts):
            (folder / f"{program}.{number}").write_text(text)
    (folder / "wait").write_text(table("kube", "barrier.sh"))
    return programs


ARGUMENT = {"getent": 2, "nslookup": 1, "python3": 3}
"""The argument that is the name."""


def start(folder: Path, program: str, *command: str, **env: str) -> subprocess.Popen[str]:
    """The script in a shell."""
    given = {
        "PATH": str(folder / "bin"),
        "BARRIER_SERVICE": SERVICE,
        "BARRIER_PODS": "3",
        "BARRIER_SETTLE_SECONDS": "0",
    }
    words = [*shell(program), str(folder / "wait"), *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=given | env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def done(process: subprocess.Popen[str], given: str = "") -> tuple[int, str, str]:
    out, err = process.communicate(given, timeout=60)
    return process.returncode, out, err


def waited(
    folder: Path, answers: dict[str, list[str]], program: str = "sh", /, **env: str
) -> tuple[int, str, str, int]:
    """Exit code, output and errors of a command behind the barrier, and how many times it asked."""
    image(folder, answers)
    code, out, err = done(start(folder, program, "sh", "-c", "echo started", **env))
    return code, out, err, len(list((folder / "asked").iterdir()))


@pytest.mark.parametrize("program", SHELLS)
def test_the_command_starts_when_dns_lists_all_pods(tmp_path: Path, program: str) -> None:
    answers = ["", ahosts("10.0.0.1"), ahosts("10.0.0.1", "10.0.0.3"), ahosts("10.0.0.1", "10.0.0.3", "10.0.0.2")]
    code, out, err, asked = waited(tmp_path, {"getent": answers}, program)
    assert (code, out, asked) == (0, "started\n", 4)
    assert "all 3 pods run" in err


@pytest.mark.parametrize("program", SHELLS)
def test_the_command_gets_arguments_input_environment_and_status(tmp_path: Path, program: str) -> None:
    image(tmp_path, {"getent": [ahosts("fd00::1", "fd00::2", "fd00::3")]})
    show = 'printf "%s|" "$@"; cat; env; exit 7'
    process = start(tmp_path, program, "sh", "-c", show, "-", "a b", "*", "", "$HOME", barrier_seen="mine")
    code, out, _ = done(process, "from outside\n")
    assert (code, out.partition("from outside\n")[0]) == (7, "a b|*||$HOME|")
    assert not [line for line in out.splitlines() if line.startswith("barrier_") and "barrier_seen" not in line]


@pytest.mark.parametrize("program", SHELLS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_and_reaches_the_command(tmp_path: Path, program: str, number: int) -> None:
    image(tmp_path / "a", {"getent": [ahosts("10.0.0.1")]})
    process = start(tmp_path / "a", program, "sh", "-c", "echo started")
    assert process.stderr
    assert "waits until 3 pods run" in process.stderr.readline()
    begun = time.monotonic()
    process.send_signal(number)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:  # bash 5.2 loses one of a thousand signals: then the kubelet kills the pod later
        begun = time.monotonic()
        process.send_signal(number)
    assert (done(process)[:2], time.monotonic() - begun < 4) == ((128 + number, ""), True)
    image(tmp_path / "b", {"getent": [ahosts("10.0.0.1", "10.0.0.2", "10.0.0.3")]})
    trap = "trap 'echo caught; exit 5' TERM INT; echo ready; while :; do sleep 0.1; done"
    process = start(tmp_path / "b", program, "sh", "-c", trap)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert done(process)[:2] == (5, "caught\n")


@pytest.mark.parametrize("program", SHELLS)
def test_a_pod_that_has_ended_still_counts(tmp_path: Path, program: str) -> None:
    one_by_one = [ahosts("10.0.0.1", "10.0.0.2"), ahosts("10.0.0.1", "10.0.0.3")]
    assert waited(tmp_path, {"getent": one_by_one}, program)[3] == 2


def test_answers_without_the_pod_itself_are_of_an_earlier_attempt(tmp_path: Path) -> None:
    before, now = ahosts("10.0.0.7", "10.0.0.8", "10.0.0.9"), ahosts("10.0.0.1", "10.0.0.2", "10.0.0.3")
    code, out, _, asked = waited(tmp_path, {"getent": [before, before, now]}, BARRIER_ADDRESS="10.0.0.1")
    assert (code, out, asked) == (0, "started\n", 3)


def test_the_rest_of_a_started_gang_does_not_count_for_a_restarted_one(tmp_path: Path) -> None:
    partly = [ahosts("10.0.0.8", "10.0.0.9"), ahosts("10.0.0.1", "10.0.0.2")]
    code, _, err, _ = waited(tmp_path, {"getent": partly}, BARRIER_ADDRESS="10.0.0.1", BARRIER_SECONDS="1")
    assert code == 1
    assert "2 of 3 pods ran within 1 seconds" in err


BUSYBOX = "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\n** server can't find train-ready.x: NXDOMAIN\n\n"
OLD_BUSYBOX = (
    "Server:    10.96.0.10\nAddress 1: 10.96.0.10 kube-dns.kube-system.svc.cluster.local\n\nName:      train-ready\n"
)
BIND = "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10#53\n\n"
ANSWERS = {
    "busybox": BUSYBOX + "".join(f"Name:\ttrain-ready.ml.svc.cluster.local\nAddress: 10.0.0.{n}\n" for n in (1, 2, 3)),
    "old busybox": OLD_BUSYBOX + "".join(f"Address {n}: 10.0.0.{n} 10-0-0-{n}.train-ready.ml.svc\n" for n in (1, 2, 3)),
    "bind": BIND + "".join(f"Name:\ttrain-ready.ml.svc.cluster.local\nAddress: fd00::{n}\n" for n in (1, 2, 3)),
}


@pytest.mark.parametrize("form", ANSWERS)
def test_nslookup_answers_in_images_without_getent(tmp_path: Path, form: str) -> None:
    text = ANSWERS[form]
    partly = text[: text.rindex("Name:") if form != "old busybox" else text.rindex("Address 3")]
    code, out, _, asked = waited(tmp_path, {"nslookup": ["Server:\t\t10.96.0.10\n", partly, text]})
    assert (code, out, asked) == (0, "started\n", 3)


def test_python_answers_in_images_without_both(tmp_path: Path) -> None:
    asked = waited(tmp_path, {"python3": ["10.0.0.1 10.0.0.1 10.0.0.2\n", "10.0.0.1 10.0.0.3 10.0.0.2\n"]})[3]
    assert asked == 2


def test_an_image_without_these_programs_says_so(tmp_path: Path) -> None:
    code, _, err, _ = waited(tmp_path, {})
    assert (code, "no getent, nslookup or python3" in err) == (1, True)


def test_the_time_limit_ends_with_what_to_look_at(tmp_path: Path) -> None:
    env = {"BARRIER_SECONDS": "1", "BARRIER_ADDRESS": "10.0.0.9"}
    code, out, err, _ = waited(tmp_path, {"getent": [ahosts("10.0.0.1")]}, **env)
    assert (code, out) == (1, "")
    assert "1 of 3 pods ran within 1 seconds" in err
    assert "DNS did not list this pod, 10.0.0.9" in err
    assert "kubectl describe service train-ready" in err


def test_a_wrong_time_limit_is_not_ignored(tmp_path: Path) -> None:
    code, _, err, asked = waited(tmp_path, {"getent": [""]}, BARRIER_SECONDS="10m")
    assert (code, asked, 'must be integers, not "10m"' in err) == (1, 0, True)


# Real lookups: each pod is a process with a resolv.conf of its own; each asks a server that repeats answers.

SERVER = """
import pathlib, socket, struct, sys, time
ready, address, kept = pathlib.Path("ready"), sys.argv[1], float(sys.argv[2])
until, listed = 0.0, []
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((address, 53))
pathlib.Path(f"serves-{address}").touch()
while True:
    question, peer = server.recvfrom(512)
    if time.monotonic() > until:
        until, listed = time.monotonic() + kept, [each.name for each in ready.iterdir()]
    end = question.index(0, 12) + 5
    asked = question[12:end]
    found = listed if asked.startswith(b"\\x0btrain-ready\\x02ml\\x03svc") and asked[-4:-2] == b"\\0\\1" else []
    code = 0 if found else 3
    head = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
    record = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x05\\0\\4"
    server.sendto(head + asked + b"".join(record + socket.inet_aton(each) for each in found), peer)
"""
SCENE = """
set -eu
ip link set lo up
for server in 127.0.0.1 127.0.0.2; do {python} server.py "$server" 2 & servers="${{servers:-}} $!"; done
until [ -e serves-127.0.0.1 ] && [ -e serves-127.0.0.2 ]; do sleep 0.1; done
mount --bind nsswitch.conf /etc/nsswitch.conf
number=1
for seconds in 0 1 0; do  # the second pod, whose command ends at once, asks another server
  unshare -m sh pod.sh "$number" "$seconds" & processes="${{processes:-}} $!"
  number=$((number + 1))
done
for process in $processes; do wait "$process" && status=0 || status=$?; echo "status $status"; done
kill $servers
"""
POD = """
mount --bind "resolv.$(($1 % 2))" /etc/resolv.conf
sleep "$2"
touch "ready/10.0.0.$1"
export BARRIER_SERVICE=train-ready BARRIER_PODS=3 BARRIER_ADDRESS="10.0.0.$1"
export BARRIER_SETTLE_SECONDS=3 BARRIER_SECONDS=30
sh wait sh -c 'echo "$(ls ready | wc -l) run"; [ "$0" = 2 ] || sleep 4' "$1"
status=$?
rm "ready/10.0.0.$1"
exit "$status"
"""
MISSING = [name for name in ("unshare", "ip", "getent") if not shutil.which(name)] + ["root"] * (os.geteuid() != 0)


@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")
def test_pods_wait_by_real_dns_with_old_answers(tmp_path: Path) -> None:
    (tmp_path / "ready").mkdir()
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "wait").write_text(table("kube", "barrier.sh"))
    (tmp_path / "pod.sh").write_text(POD)
    (tmp_path / "nsswitch.conf").write_text("hosts: files dns\n")
    for number in range(2):
        search = "search ml.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
        (tmp_path / f"resolv.{number}").write_text(f"{search}nameserver 127.0.0.{number + 1}\n")
    alone = ["unshare", "-nmpf", "--kill-child", "--mount-proc", "sh", "-c", SCENE.format(python=sys.executable)]
    begun = time.monotonic()
    done = subprocess.run(alone, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout.splitlines().count("status 0") == 3, done.stderr
    assert done.stdout.splitlines()[0] == "3 run"
    assert time.monotonic() - begun < 25


# The manifests.


def gang(barrier: str, kind: str = "auto", **changes: Any) -> dict[str, Any]:
    """Two groups of two podSets with three pods."""
    podsets = [
        {**WORKER, "replicas": 2},
        {"name": "server", "image": "x:1", "command": ["serve"], "resources": {"cpu": "1"}},
    ]
    group = {"name": "part", "replicas": 2, "podSets": podsets}
    return {"name": "main", "barrier": barrier, "workload": kind, "groups": [group], **changes}


def meetings(result: Result) -> dict[str, tuple[int, int]]:
    """Service -> how many pods ask it, and how many it selects; each pod that asks is one of them."""
    everyone = list(pods(result.documents))
    services = {each["metadata"]["name"]: each["spec"] for each in result.kinds("Service")}
    found: dict[str, tuple[int, int]] = {}
    for name in {pod.env["BARRIER_SERVICE"] for pod in everyone}:
        selector = services[name]["selector"]
        asking = [pod for pod in everyone if pod.env["BARRIER_SERVICE"] == name]
        selected = [pod for pod in everyone if selector.items() <= pod.labels.items()]
        assert all(pod in selected for pod in asking)
        assert "publishNotReadyAddresses" not in services[name]
        assert {int(pod.env["BARRIER_PODS"]) for pod in asking} <= {len(selected)}
        found[name] = len(asking), len(selected)
    return found


@pytest.mark.parametrize("kind", ["jobset", "job", "pods"])
def test_each_pod_asks_the_service_that_lists_its_peers(kind: str) -> None:
    whole = run(workflow(gang("gang", kind)))
    assert meetings(whole) == {"train-ready": (6, 6)}
    for pod in pods(whole.documents):
        (container,) = pod.spec["containers"]
        command = container["command"]
        assert command[-3:-1] == ["sh", "/etc/barrier/wait"]
        assert {"name": "bayplan-barrier", "mountPath": "/etc/barrier"} in container["volumeMounts"]
        assert {"name": "bayplan-barrier", "configMap": {"name": "train-ready", "defaultMode": 0o555}} in pod.spec[
            "volumes"
        ]
    assert {"train-ready"} == {each["metadata"]["name"] for each in whole.kinds("ConfigMap")}
    assert whole.kinds("ConfigMap")[0]["data"] == {"wait": table("kube", "barrier.sh")}
    assert meetings(run(workflow(gang("group", kind)))) == {f"train-part-{n}-ready": (3, 3) for n in range(2)}


def test_copies_of_a_gang_wait_separately() -> None:
    result = run(workflow(gang("gang", replicas=2)))
    assert meetings(result) == {"train-0-ready": (6, 6), "train-1-ready": (6, 6)}


def test_volcano_jobs_wait() -> None:
    result = run(workflow(gang("gang", "volcano-job")), scheduler="volcano")
    assert meetings(result) == {"train-ready": (6, 6)}


def test_groups_that_share_a_jobset_have_a_service_for_each_number() -> None:
    result = run(workflow(gang("group", "jobset")), scheduler="kueue")
    assert result.kinds("JobSet")[0]["spec"]["replicatedJobs"][0]["replicas"] == 2
    assert meetings(result) == {"train-part-0-ready": (3, 3), "train-part-1-ready": (3, 3)}


def test_groups_that_share_a_job_have_no_barrier_if_the_user_accepts_it() -> None:
    group = {"name": "part", "replicas": 2, "podSets": [{**WORKER, "replicas": 2}]}
    flow = workflow(gang("group", "job", groups=[group]))
    assert "F688" in run(flow, scheduler="kueue").codes
    accepted = run(flow, scheduler="kueue", accept=frozenset({"F688"}))
    assert accepted.kinds("ConfigMap") == []
    assert "/etc/barrier/wait" not in str(accepted.documents)


def test_elastic_gangs_wait_for_those_that_must_start() -> None:
    worker = {**WORKER, "replicas": 8, "minReplicas": 4, "command": ["train"]}
    elastic = {"name": "main", "barrier": "gang", "rendezvous": "none", "podSets": [worker]}
    (service,) = {pod.env["BARRIER_PODS"] for pod in pods(run(workflow(elastic)).documents)}
    assert service == "4"
    group = {"name": "part", "replicas": 3, "minReplicas": 2, "podSets": [{**WORKER, "replicas": 2}]}
    result = run(workflow({"name": "main", "barrier": "gang", "rendezvous": "none", "groups": [group]}))
    assert {pod.env["BARRIER_PODS"] for pod in pods(result.documents)} == {"4"}


def test_the_barrier_is_before_an_mpi_launcher() -> None:
    worker = {**WORKER, "replicas": 2, "launcher": "mpi", "command": ["mpirun", "train"]}
    result = run(workflow({"name": "main", "barrier": "gang", "podSets": [worker]}))
    for pod in pods(result.documents):
        (container,) = pod.spec["containers"]
        assert container["command"] == ["sh", "/etc/barrier/wait", "sh", "/etc/mpi-launcher/launch", "mpirun", "train"]


def test_the_users_variables_are_kept() -> None:
    env = {"BARRIER_SECONDS": 60, "BARRIER_PODS": 1}
    result = run(workflow({"name": "main", "barrier": "gang", "podSets": [{**WORKER, "env": env}]}))
    names = [each["name"] for each in next(pods(result.documents)).spec["containers"][0]["env"]]
    assert names.count("BARRIER_PODS") == 1
    assert next(pods(result.documents)).env["BARRIER_SECONDS"] == "60"


def test_a_second_service_of_the_name_is_an_error() -> None:
    first, second = gang("gang", "pods"), gang("none", "pods", name="main-ready")
    assert "W301" in run(workflow(first, second)).codes
    assert "W301" not in run(workflow(first, {**second, "rendezvous": "none"})).codes


def test_cleanup_adopts_the_service_and_the_script() -> None:
    topology = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "images": {"kubectl": "kubectl:1"}}}
    result = run(workflow(gang("gang", "jobset"), cleanup="adopt"), topology)
    (job,) = (each for each in result.kinds("Job") if each["metadata"]["name"].endswith("adopt"))
    script = job["spec"]["template"]["spec"]["containers"][0]["command"][2]
    assert "kubectl patch services train-ready" in script
    assert "kubectl patch configmaps train-ready" in script


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(random_workflows.workflows(), st.sampled_from(["gang", "group"]), st.sampled_from(["kai", "kueue", "volcano"]))
def test_random_gangs_ask_the_service_that_lists_them(flow: dict[str, Any], barrier: str, scheduler: str) -> None:
    gangs = [{**each, "barrier": barrier} for each in flow["spec"]["gangs"]]
    result = run({**flow, "spec": {**flow["spec"], "gangs": gangs}}, random_workflows.TOPOLOGY, scheduler=scheduler)
    assume(result.compiled)
    everyone = list(pods(result.documents))
    services = {each["metadata"]["name"]: each["spec"]["selector"] for each in result.kinds("Service")}
    for pod in (each for each in everyone if "BARRIER_SERVICE" in each.env):
        name = pod.env["BARRIER_SERVICE"]
        listed = [each for each in everyone if services[name].items() <= each.labels.items()]
        assert pod in listed
        assert {(each.env["BARRIER_SERVICE"], each.env["BARRIER_PODS"]) for each in listed} == {
            (name, pod.env["BARRIER_PODS"])
        }
        assert 1 < int(pod.env["BARRIER_PODS"]) <= len(listed)
        apart = {each.labels.get("bayplan.dev/group") for each in listed}
        assert barrier == "gang" or len(apart) == 1


@pytest.mark.parametrize("scheduler", ["kai", "volcano", "kueue", "koordinator", "native", "slurm-bridge", "none"])
@pytest.mark.parametrize("barrier", ["gang", "group"])
def test_lint_accepts_barriers(scheduler: str, barrier: str) -> None:
    topology = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "versions": {"kubernetes": "1.35"}}}
    group = {"name": "part", "replicas": 2, "podSets": [{**WORKER, "replicas": 2}]}
    made = run(workflow(gang(barrier, groups=[group])), topology, scheduler=scheduler).compiled
    assert made
    text = "".join(emit(made.documents))
    read = document.read("m.yaml", text.encode(), "manifest", own=False).value or ()
    outcome, _ = pipeline.lint(
        pipeline.LintRequest(read, document.Document("topology.yaml", "", 0, topology), scheduler)
    )
    assert [each for each in outcome.diagnostics if each.severity != "info"] == []


LOG = {"name": "log", "image": "log:1"}
HOST = {"spec": {"hostNetwork": True}}


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({"template": HOST}, True),  # four of four GPUs
        ({"template": HOST, "accelerator": {"count": 2}}, False),
        ({"template": HOST, "accelerator": {"count": 3}}, True),
        ({"template": HOST, "accelerator": {"count": 1}, "ports": {"rdzv": 29500}}, True),
        ({"template": {"spec": {"containers": [{"livenessProbe": {"exec": {}}}]}}}, False),
        ({"template": {"spec": {"containers": [{"livenessProbe": None}]}}}, True),
        ({"template": {"spec": {"containers": [{"name": "worker"}, {**LOG, "readinessProbe": {"exec": {}}}]}}}, True),
        ({"template": {"spec": {"dnsPolicy": "Default"}}}, False),
        ({"template": {"spec": {"dnsPolicy": "ClusterFirst"}}}, True),
        ({"files": {"/etc/barrier": "text"}}, False),
        ({"files": {"/etc/barriers": "text"}}, True),
    ],
)
def test_which_pods_can_wait(changes: dict[str, Any], possible: bool) -> None:
    worker = {**WORKER, "replicas": 2, **changes}
    result = run(workflow({"name": "main", "barrier": "gang", "podSets": [worker]}))
    assert ("W385" not in result.codes) == possible


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({"dnsPolicy": "Default"}, True),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}}, True),
        ({"dnsPolicy": "None", "dnsConfig": {"searches": ["ml.svc.cluster.local"]}}, False),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, True),
        ({"dnsPolicy": "ClusterFirst"}, False),
        ({"hostNetwork": True}, False),
    ],
)
def test_pods_that_ask_other_dns_servers_cannot_wait(spec: dict[str, Any], refused: bool) -> None:
    why, _ = cannot_wait(PodSet("worker", command=("run",), template={"spec": spec}), None)
    assert ("dnsPolicy" in why) == refused
