"""Cases that stand in files, or are written by hand."""

from __future__ import annotations

from pathlib import Path

import yaml

from e2e.releases import ROOT
from e2e.scene import LOADER, Case


def examples() -> list[Case]:
    """Every example of the repository."""
    folders = sorted(path.parent for path in (ROOT / "examples").glob("*/workflow.yaml"))
    return [Case(folder.name, _read(folder / "workflow.yaml"), _read(folder / "topology.yaml")) for folder in folders]


def _read(path: Path) -> dict[str, object]:
    found = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    assert isinstance(found, dict)
    return found
