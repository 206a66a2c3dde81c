"""kustomize with bayplan as its function, as an installation has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tools.clients import tool
from tools.run import ROOT, environment

PLUGIN = ROOT / "kustomize-plugin"
FLAGS = ("--enable-alpha-plugins", "--enable-exec")
OVERLAYS = ("dev", "prod")
SCRIPT = """\
#!{python}
{first}
import sys
sys.path.insert(0, {source!r})
from bayplan.__main__ import krm
krm()
"""


def install(folder: Path, first: str = "") -> Path:
    """A folder with bayplan-krm in it, which runs this checkout. `first`: what it does before."""
    script = folder / "bayplan-krm"
    script.write_text(
        SCRIPT.format(python=sys.executable, first=first, source=str(ROOT / "generator")), encoding="utf-8"
    )
    script.chmod(0o755)
    return folder


def call(programs: Path, *command: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """A program that finds bayplan-krm."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    env = environment({"PATH": path, "HOME": str(programs), **extra})
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False)


def build(programs: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """`kustomize build`."""
    return call(programs, tool("kustomize"), "build", *(flags or FLAGS), ".", cwd=folder)


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What a build that must succeed wrote."""
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))
