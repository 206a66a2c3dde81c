"""Same input, same bytes: under any hash seed, locale, time zone and folder, and however the input's maps and rows are
ordered.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tools.run import EXAMPLES, PRETRAIN, RENDER_64, rendered

ENVIRONMENTS = {
    "seed-0": {"PYTHONHASHSEED": "0"},
    "seed-1": {"PYTHONHASHSEED": "1"},
    "seed-random": {"PYTHONHASHSEED": "random"},
    "turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "posix": {"LC_ALL": "C", "PYTHONUTF8": "0"},
    "time-zone": {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "0"},
    "columns": {"COLUMNS": "20", "FORCE_COLOR": "1", "TERM": "dumb"},
    "user": {"USER": "someone", "HOME": "/nowhere", "HOSTNAME": "elsewhere"},
}


@pytest.fixture(scope="module")
def expected() -> str:
    """The 64-pod example as it always is."""
    return rendered(*RENDER_64)


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_the_environment_changes_nothing(name: str, expected: str) -> None:
    assert rendered(*RENDER_64, env=ENVIRONMENTS[name]) == expected


def test_the_folder_changes_nothing(expected: str, tmp_path: Path) -> None:
    relative = [os.path.relpath(each, tmp_path) if "/" in each else each for each in RENDER_64]
    assert rendered(*relative, cwd=tmp_path) == expected


def shuffled(value: Any, random: Random, path: tuple[str, ...] = ()) -> Any:
    """The value with its maps reordered and the rows of a topology's pools and domains too."""
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: shuffled(item, random, (*path, key)) for key, item in items}
    if isinstance(value, list):
        items = [shuffled(item, random, path) for item in value]
        if path and path[-1] == "domains":
            random.shuffle(items)
        return items
    return value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/workflow.yaml")))
def test_the_order_of_keys_and_rows_changes_nothing(example: str, seed: int, tmp_path: Path) -> None:
    ordered = render(EXAMPLES / example)
    for name in ("workflow", "topology"):
        data = yaml.safe_load((EXAMPLES / example / f"{name}.yaml").read_text(encoding="utf-8"))
        (tmp_path / f"{name}.yaml").write_text(json.dumps(shuffled(data, Random(seed))), encoding="utf-8")
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
