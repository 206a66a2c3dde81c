"""Cases that stand in files: the examples, and what random cases once came to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from e2e.scheduler import LOADER, ROOT, Case

FOLDER = Path(__file__).parent / "regressions"


class Regression(NamedTuple):
    """A case whose outcome is worth keeping. `outcomes`: name of a release -> of each stage."""

    case: Case
    why: str
    outcomes: Mapping[str, tuple[str, ...]]


CLAIMED = frozenset({"rdma-dranet"})
"""Examples whose pods claim network cards: the bench has GPUs and channels among the devices, and no other kind."""

CONTROLLED = frozenset(
    {"all-reduce", "disaggregated", "disaggregated-lws", "router", "stateful-server", "train-job", "vllm"}
)
"""Examples whose pods other controllers name and group: test_workloads_rendered.py replays what these make of them."""


def examples() -> list[Case]:
    """Every example of the repository that is for KAI: others have cards or kinds of workloads of other schedulers."""
    folders = sorted(
        path.parent
        for path in (ROOT / "examples").glob("*/workflow.yaml")
        if path.parent.name not in CLAIMED | CONTROLLED
    )
    cases = [read_example(folder.name) for folder in folders]
    return [case for case in cases if case.topology["spec"].get("defaults", {}).get("scheduler", "kai") == "kai"]


def read_example(name: str) -> Case:
    """One of them."""
    folder = ROOT / "examples" / name
    return Case(name, _read(folder / "workflow.yaml"), _read(folder / "topology.yaml"))


def regressions() -> list[Regression]:
    """The files of `regressions`."""
    return [_regression(path) for path in sorted(FOLDER.glob("*.json"))]


def _regression(path: Path) -> Regression:
    found = json.loads(path.read_text(encoding="utf-8"))
    case = Case(path.stem, found["workflow"], found["topology"])
    return Regression(case, found["why"], {name: tuple(each) for name, each in found["outcomes"].items()})


def _read(path: Path) -> dict[str, Any]:
    found = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    assert isinstance(found, dict)
    return found
