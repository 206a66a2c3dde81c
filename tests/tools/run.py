"""Run bayplan as its users do: a process of its own, in some folder, under some environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PRETRAIN = EXAMPLES / "pretrain"
RENDER_64 = ["render", f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml", "--cluster-objects"]
"""The 64-pod example."""

DROPPED = {"PYTHONPATH", "PYTHONHASHSEED", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"}


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The caller's environment with the checkout importable, less what changes output."""
    kept = {key: value for key, value in os.environ.items() if key not in DROPPED}
    return {**kept, "PYTHONPATH": str(ROOT / "generator"), "PYTHONIOENCODING": "utf-8", **extra}


def python(
    *arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """This interpreter with those arguments."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(env),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def bayplan(
    *arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """`bayplan ARGUMENTS`."""
    return python("-m", "bayplan", *arguments, cwd=cwd, env=env, stdin=stdin)


def rendered(*arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}) -> str:
    """The standard output of a run that must succeed."""
    result = bayplan(*arguments, cwd=cwd, env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout


def hooked(
    code: str, arguments: Sequence[str], env: Mapping[str, str] = {}, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """`bayplan ARGUMENTS` in a process that runs `code` first."""
    start = f"{code}\nimport runpy, sys\nsys.argv = ['bayplan', *{list(arguments)!r}]\n"
    return python(
        "-c", start + "runpy.run_module('bayplan', run_name='__main__', alter_sys=True)", env=env, stdin=stdin
    )
