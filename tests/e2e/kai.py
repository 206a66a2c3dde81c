"""Run a release's snapshot-tool, and read what it bound."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from e2e.releases import Release
from e2e.snapshot import write

BOUND = re.compile(r"Creating bind request for task <[^/>]*/([^>]+)> to node <([^>]+)>")
VERBOSITY = 3
"""The lowest at which the tool tells of bind requests (KAI pkg/scheduler/cache/cache.go)."""


class Replay(NamedTuple):
    """What the scheduler did in one session."""

    bindings: dict[str, str]  # pod -> node
    log: str


class BrokenError(Exception):
    """The tool did not finish a session."""


def replay(release: Release, content: dict[str, Any], verbosity: int = VERBOSITY, seconds: int = 120) -> Replay:
    """One scheduling session over the snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.zip"
        write(path, content)
        command = [str(release.tool), "--filename", str(path), "--verbosity", str(verbosity)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    log = done.stdout + done.stderr
    if done.returncode or "panic:" in log or "Failed to create" in log:
        raise BrokenError(f"{release.tool.name} ended with {done.returncode}:\n{log[-4000:]}")
    return Replay(dict(BOUND.findall(log)), log)
