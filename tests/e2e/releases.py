"""The releases that are replayed. Another release is a line here, and one in `prepare`."""

from __future__ import annotations

import os
import shutil

import pytest

from e2e.kai import KAI
from e2e.koordinator import KOORDINATOR
from e2e.kueue import KUEUE
from e2e.native import NATIVE
from e2e.scheduler import Release
from e2e.slurm import SLURM
from e2e.volcano import VOLCANO

RELEASES = (
    *(Release(KAI, version) for version in ("0.12.0", "0.13.1", "0.14.7", "0.17.0")),
    Release(VOLCANO, "1.15.1"),
    Release(KUEUE, "0.19.2"),
    Release(NATIVE, "1.37.0"),
    Release(KOORDINATOR, "1.8.0"),
    Release(SLURM, "25.11"),
)

BY_NAME = {each.name: each for each in RELEASES}

BUILT = ("kai 0.17.0", "volcano 1.15.1", "kueue 0.19.2", "native 1.37.0")
"""Those that `.ci/run` builds, and without which its tests fail."""

NEWEST = (*BUILT, "koordinator 1.8.0", "slurm 25.11")
"""The newest of each scheduler."""

ALL = os.environ.get("BAYPLAN_E2E") == "all"
"""Whether a program that is missing is a failure, whichever it is."""


def require(release: Release) -> None:
    """Skip the test if the release's program is missing, or fail it where the program must be there."""
    missing = release.missing()
    needed = os.environ.get("CI") == "true" and shutil.which("go") and release.name in BUILT and release.has_source()
    if missing and (ALL or needed):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
