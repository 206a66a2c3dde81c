"""The two programs that `prepare` builds, and what their absence means."""

from __future__ import annotations

import os
import re
from pathlib import Path
from shutil import which

HERE = Path(__file__).resolve().parent
BIN = HERE.parents[2] / ".ci" / "bin"
VERSIONS = dict(re.findall(r"^\t(\S+) (v\S+)", (HERE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE))
"""Module -> the version that go.mod builds."""

KUBERNETES = VERSIONS["k8s.io/kubernetes"].removeprefix("v")
APISERVER = BIN / f"kube-apiserver@v{KUBERNETES}"
ETCD = BIN / f"etcd@{VERSIONS['go.etcd.io/etcd/server/v3']}"


def missing() -> str:
    """Why no server can be started here; empty when it can."""
    absent = [path.name for path in (ETCD, APISERVER) if not os.access(path, os.X_OK)]
    return f"no {' and no '.join(absent)}: run tests/e2e/apiserver/prepare, which takes Go" if absent else ""


def expected() -> bool:
    """Whether `prepare` must have run: in CI, with Go, where BAYPLAN_APISERVER=1 asks for the build of some minutes."""
    asked = os.environ.get("CI") == "true" and os.environ.get("BAYPLAN_APISERVER") == "1"
    return asked and which("go") is not None
