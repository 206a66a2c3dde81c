"""Pods that fail: the shell that hides it, in dash and bash, and exit codes after which pods or gangs start again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

import support
from bayplan.kube.shell import ignoring
from bayplan.plugins.osmo.source import with_exit_codes
from judges import volcano

SHELLS = pytest.mark.parametrize("shell", ["dash", "bash"])
ENDS = """
import os, signal, sys
signal.signal(signal.{0}, lambda number, frame: sys.exit({1}))
print(sys.stdin.readline().strip(), os.environ.get("code"), flush=True)
signal.pause()
"""


def run(shell: str, *command: str, passed: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A command that ended in the shell."""
    _, *words = ignoring(command, passed)
    return subprocess.run([shell, *words], check=False, capture_output=True, text=True)


@SHELLS
def test_a_failure_is_reported_and_hidden(shell: str) -> None:
    ended = run(shell, "sh", "-c", "echo out; exit 7")
    assert (ended.returncode, ended.stdout) == (0, "out\n")
    assert ended.stderr == "The command failed with status 7. Its gang ignores this, so the pod ends with 0.\n"


@SHELLS
def test_success_and_codes_that_start_the_pod_again_are_passed_on(shell: str) -> None:
    codes = (0, 3, 30, 130)
    ended = [run(shell, "sh", "-c", f"exit {code}", passed=(3, 130)) for code in codes]
    assert [(each.returncode, bool(each.stderr)) for each in ended] == [(0, False), (3, False), (0, True), (130, False)]


@SHELLS
def test_a_missing_program_and_a_killed_one_are_failures(shell: str) -> None:
    assert "status 127" in run(shell, "no-such-program").stderr
    assert "status 137" in run(shell, "sh", "-c", "kill -KILL $$").stderr


@SHELLS
@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 9), (signal.SIGUSR1, 0), (signal.SIGINT, 0)])
@pytest.mark.parametrize("nested", [False, True])
def test_after_sigterm_the_exit_code_is_passed_on(
    shell: str, number: signal.Signals, expected: int, nested: bool
) -> None:
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    command = [sys.executable, "-c", ENDS.format(number.name, 9)]
    _, *words = ignoring(with_exit_codes(command, [("COMPLETE", "15")]) if nested else command, ())
    environment = {**os.environ, "code": "mine"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([shell, *words], text=True, env=environment, **pipes) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("ready\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready mine\n"
        process.send_signal(number)
        assert process.wait(60) == expected


BARE = {"image": "registry.example.com/train:1", "command": ["run"]}
PODS = [
    {**BARE, "name": "lead"},
    {**BARE, "name": "helper"},
    {**BARE, "name": "again", "restartPolicy": "OnFailure"},
]


def documents(*pods: dict[str, Any], scheduler: str = "kai", **gang: Any) -> list[dict[str, Any]]:
    """What is rendered for a gang of these podSets."""
    result = support.run(support.workflow({"name": "main", **gang, "podSets": [*pods]}), scheduler=scheduler)
    assert result.compiled is not None, result.diagnostics
    return result.documents


@pytest.mark.parametrize(("kind", "wrapped"), [("jobset", ["helper"]), ("pods", [])])
def test_only_pods_whose_failure_would_end_the_gang_have_the_shell(kind: str, wrapped: list[str]) -> None:
    made = documents(*PODS, lead="lead", ignoreNonleadFailures=True, workload=kind)
    containers = [each.spec["containers"][0] for each in support.pods(made)]
    assert [each["name"] for each in containers if each["command"] != ["run"]] == wrapped


@pytest.mark.parametrize(("restarts", "limit"), [(0, 2**31 - 1), (2, 3)])
def test_volcano_restarts_pods_and_gangs_by_exit_codes(restarts: int, limit: int) -> None:
    own = {**BARE, "name": "worker", "retryOnExitCodes": [9, 4], "restartGangOnExitCodes": [3]}
    (job,) = documents(own, scheduler="volcano", workload="volcano-job", maxRestarts=restarts)
    (task,) = job["spec"]["tasks"]
    policies = [(each["exitCode"], each["action"]) for each in task["policies"]]
    assert policies == [(4, "RestartPod"), (9, "RestartPod"), (3, "RestartJob")]
    assert job["spec"]["maxRetry"] == limit
    assert volcano.judge(job) == []
    twice = {**job, "spec": {**job["spec"], "tasks": [{**task, "policies": task["policies"] * 2}]}}
    assert "invalid policy" in volcano.judge(twice)[0]


def test_secrets_of_namespace_workflow_pod_set_and_template_are_one_list() -> None:
    spec = {**support.TOPOLOGY["spec"], "namespaces": {"ml": {"imagePullSecrets": ["a"]}}}
    template = {"spec": {"imagePullSecrets": [{"name": "b"}, {"name": "d"}]}}
    own = {**BARE, "name": "worker", "imagePullSecrets": ["a", "c"], "template": template}
    result = support.run(
        support.workflow({"name": "main", "podSets": [own]}, imagePullSecrets=["b"]), {**support.TOPOLOGY, "spec": spec}
    )
    (secrets,) = {str(each.spec["imagePullSecrets"]) for each in support.pods(result.documents)}
    assert secrets == str([{"name": name} for name in "abcd"])
