"""The releases of KAI whose snapshot-tool can be built (tests/e2e/go), and what each tool can replay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Release(NamedTuple):
    """One release.

    `claims`: the tool hands the snapshot's API discovery to the scheduler, without which DRA stays off (KAI
    cmd/snapshot-tool/main.go, since 0.13). `parents`: the scheduler passes over queues without a parent (KAI
    pkg/scheduler/actions/utils/job_order_by_queue.go, up to 0.12).
    """

    version: str
    claims: bool = True
    parents: bool = False
    scheduler: str = "kai"

    @property
    def target(self) -> dict[str, str]:
        """What to render for."""
        own = {} if self.scheduler == "native" else {self.scheduler: self.version}
        return {**own, "kubernetes": KUBERNETES.get(self.scheduler, "1.34")}

    @property
    def tool(self) -> Path:
        """Where `prepare` puts the built tool."""
        name = f"replay-{self.scheduler}@{self.version}"
        return ROOT / ".ci" / "bin" / name

    def missing(self) -> str:
        """Why the release cannot be run here; empty when it can."""
        return "" if os.access(self.tool, os.X_OK) else f"no {self.tool.name}: run tests/e2e/prepare, which takes Go"


KUBERNETES = {"native": "1.37"}

VOLCANO = Release("1.15.1", scheduler="volcano")
KUEUE = Release("0.19.2", scheduler="kueue")
RELEASES = (Release("0.12.0", claims=False, parents=True), Release("0.13.1", claims=True, parents=False))
