"""Same input, same bytes: under any hash seed, locale, time zone and folder, and however the input's maps and rows are
ordered.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tools.effort import LONG
from tools.run import EXAMPLES, PRETRAIN, RENDER_64, ROOT, bayplan, process, python, rendered

SEEDS = {
    "0": {"PYTHONHASHSEED": "0", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "1": {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONUTF8": "0"},
    "random": {"PYTHONHASHSEED": "random", "TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "0"},
}
"""Seeds of Python's hashes, each with another locale or time zone."""

ENVIRONMENTS = {
    **SEEDS,
    "columns": {"COLUMNS": "20", "FORCE_COLOR": "1", "TERM": "dumb"},
    "user": {"USER": "someone", "HOME": "/nowhere", "HOSTNAME": "elsewhere"},
}

ALL = [
    ["render", f"{path.parent}/workflow.yaml", "-t", f"{path.parent}/topology.yaml", "--cluster-objects"]
    for path in sorted(EXAMPLES.glob("*/workflow.yaml"))
]
"""Every example."""

RUNS = """
import json, sys
from tools.run import bayplan
runs = [bayplan(*each) for each in json.load(sys.stdin)]
print(json.dumps([[run.returncode, run.stdout, run.stderr] for run in runs]))
"""
"""A program: what each of many command lines gives, in one new interpreter."""


@pytest.fixture(scope="module")
def expected() -> list[list[Any]]:
    """What each example gives, as it always is."""
    runs = [bayplan(*each) for each in ALL]
    return [[run.returncode, run.stdout, run.stderr] for run in runs]


@pytest.mark.parametrize("name", SEEDS)
def test_no_seed_changes_an_example(name: str, expected: list[list[Any]]) -> None:
    path = os.pathsep.join([str(ROOT / "generator"), str(ROOT / "tests")])
    done = python("-c", RUNS, env={**SEEDS[name], "PYTHONPATH": path}, stdin=json.dumps(ALL))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environment_changes_nothing(name: str) -> None:
    done = process(*RENDER_64, env=ENVIRONMENTS[name])
    assert (done.returncode, done.stdout) == (0, rendered(*RENDER_64)), done.stderr


def test_the_folder_changes_nothing(tmp_path: Path) -> None:
    relative = [os.path.relpath(each, tmp_path) if "/" in each else each for each in RENDER_64]
    assert rendered(*relative, cwd=tmp_path) == rendered(*RENDER_64)


def shuffled(value: Any, random: Random, path: tuple[str, ...] = ()) -> Any:
    """The value with its maps reordered and the rows of a topology's domains too.

    The order of a matrix has a meaning: its last variable changes fastest."""
    if isinstance(value, dict):
        items = list(value.items())
        if "matrix" not in path:
            random.shuffle(items)
        return {key: shuffled(item, random, (*path, key)) for key, item in items}
    if isinstance(value, list):
        items = [shuffled(item, random, path) for item in value]
        if path and path[-1] == "domains":
            random.shuffle(items)
        return items
    return value


@pytest.mark.parametrize("seed", range(3 if LONG else 1))
@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/workflow.yaml")))
def test_the_order_of_keys_and_rows_changes_nothing(example: str, seed: int, tmp_path: Path) -> None:
    ordered = render(EXAMPLES / example)
    for name in ("workflow", "topology"):
        data = yaml.load((EXAMPLES / example / f"{name}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
        (tmp_path / f"{name}.yaml").write_text(json.dumps(shuffled(data, Random(seed))), encoding="utf-8")
    for table in (EXAMPLES / example).glob("*.csv"):
        shutil.copy(table, tmp_path)
    assert render(tmp_path) == ordered


def render(folder: Path) -> str:
    """A folder's workflow on its topology."""
    return rendered("render", f"{folder}/workflow.yaml", "-t", f"{folder}/topology.yaml", "--cluster-objects")


def test_the_order_of_files_changes_nothing(tmp_path: Path) -> None:
    second = tmp_path / "second.yaml"
    text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
    second.write_text(text.replace("name: pretrain", "name: second"), encoding="utf-8")
    tail = ["-t", f"{PRETRAIN}/topology.yaml"]
    both = [f"{PRETRAIN}/workflow.yaml", str(second)]
    assert rendered("render", *both, *tail) == rendered("render", *reversed(both), *tail)
