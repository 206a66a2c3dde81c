"""How the whole suite runs: workers, bytecode, Hypothesis' profiles."""

from __future__ import annotations

import compileall
import gc
import os
import runpy
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tools import needs
from tools.effort import LONG, tries

ROOT = Path(__file__).resolve().parents[1]

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process that a test starts compiles bayplan again
sys.dont_write_bytecode = False

settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("full" if LONG else "default")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """All cores for the whole suite; one process for chosen files, to write snapshots and to list tests."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return None if whole and not (config.option.update_snapshots or config.option.collectonly) else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives each property its share of the examples, the same ones in every run."""
    tests = {getattr(test, "__func__", test) for item in items if (test := getattr(item, "obj", None))}
    for test in () if LONG else tests:
        own = getattr(test, SETTINGS, None)
        if own is not None:
            setattr(test, SETTINGS, settings(own, max_examples=tries(own.max_examples), derandomize=True))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the garbage collector need not look at it again, and seldom at the rest."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test."""


def pytest_configure(config: pytest.Config) -> None:
    """Validators of the schemas as they are now, and bytecode of all modules, made once for all workers."""
    if not hasattr(config, "workerinput"):
        runpy.run_path(str(ROOT / "hatch_build.py"), run_name="__main__")
        compileall.compile_dir(ROOT / "generator", quiet=1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the skipped tests need."""
    reasons = [str(each.longrepr[2]) for each in terminalreporter.stats.get("skipped", ()) if each.longrepr]
    for line in needs.summary(reason.removeprefix("Skipped: ") for reason in reasons):
        terminalreporter.write_line(line)
    if path := os.environ.get("BAYPLAN_SKIPPED"):  # for another run, which has what they need
        names = {each.nodeid.partition("[")[0] for each in terminalreporter.stats.get("skipped", ())}
        Path(path).write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
