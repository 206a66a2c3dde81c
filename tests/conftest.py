"""Fixtures shared by the whole suite."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    """Validators of the schemas as they are now, made once for all workers."""
    if not hasattr(config, "workerinput"):
        runpy.run_path(str(ROOT / "hatch_build.py"), run_name="__main__")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
