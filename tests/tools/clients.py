"""The programs that read what bayplan writes. They are not Python packages, so they may be absent: then their tests are
skipped, except in CI, which installs them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def tool(name: str) -> str:
    """The path of a program; without it the test is skipped, or fails in CI."""
    found = shutil.which(name)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"{name} is not installed")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def output(*command: str, cwd: Path) -> str:
    """What a program that must succeed prints."""
    env = {**os.environ, "HOME": str(cwd), "HELM_NO_PLUGINS": "1"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
