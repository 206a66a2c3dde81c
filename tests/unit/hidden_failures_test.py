"""The shell that hides failures of pods other than the lead, in dash and bash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from bayplan.kube.shell import ignoring
from bayplan.workflows.osmo.source import with_exit_codes

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
