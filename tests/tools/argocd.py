"""Argo CD's own code: what argocd-repo-server makes of an application, and the server of a plugin in a sidecar.

`tests/e2e/prepare argocd` builds it. Its tests skip where it is absent.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools.run import ROOT

VERSION = "3.5.1"


def program() -> Path:
    """The program of tests/e2e/go/argocd; without it the test is skipped."""
    path = f"{ROOT / '.ci' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which(f"replay-argocd@{VERSION}", path=path)
    if found is None:
        pytest.skip(f"there is no replay-argocd@{VERSION}; tests/e2e/prepare argocd builds it")
    return Path(found)


class Made(NamedTuple):
    """What argocd-repo-server answers."""

    type: str
    """How it renders the application: Plugin, Kustomize or another one."""
    objects: list[Any]
    error: str
    """What Argo CD shows in the application."""


def manifests(root: Path, path: str, source: Mapping[str, Any], env: Mapping[str, str], **more: Any) -> Made:
    """The manifests of the application in the folder `path` of the repository `root`.

    `source` is the application's `spec.source`. `more` are fields of a ManifestRequest (reposerver/repository).
    """
    request = {
        "Repo": {"repo": "https://git.example.com/ml/jobs.git"},
        "AppName": "training",
        "Namespace": "elsewhere",
        "KubeVersion": "1.34.1",
        "ApiVersions": ["v1", "batch/v1"],
        "ApplicationSource": {"path": path, **source},
        **{"".join(word.capitalize() for word in key.split("_")): value for key, value in more.items()},
    }
    line = json.dumps({"root": str(root), "request": request})
    done = subprocess.run(
        [program()], input=line, env=env, capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    answer = json.loads(done.stdout)
    return Made(answer.get("type", ""), answer.get("manifests", []), answer.get("error", ""))


@contextmanager
def serving(command: Sequence[str], sockets: Path, env: Mapping[str, str]) -> Iterator[None]:
    """argocd-cmp-server runs in the background. It puts its socket into the folder `sockets`."""
    log = sockets.parent / "server.log"
    with log.open("wb") as file, subprocess.Popen(command, env=env, stdout=file, stderr=file) as server:
        try:
            for _ in range(300):
                if any(sockets.iterdir()) or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert any(sockets.iterdir()), log.read_text(encoding="utf-8")
            yield
        finally:
            server.kill()  # SIGTERM removes its socket, and it serves on
