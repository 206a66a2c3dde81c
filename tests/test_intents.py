"""The files of benchmarks/intents: each system accepts its own, all request the same, and the page counts them."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges import UPSTREAM, judge_all
from tools.data import parse
from tools.intent_judges import calls
from tools.run import ROOT, bayplan

COUNTER = runpy.run_path(str(ROOT / "benchmarks" / "intents.py"))
JOBS, SYSTEMS = COUNTER["evidence"]()
FOLDER: Path = COUNTER["FOLDER"]
NAMES = [job.name for job in JOBS]

VERSIONS = "kubernetes=1.34,kai=0.17,jobset=0.12,lws=0.10,grove=0.1"
TARGET = {**dict(each.split("=") for each in VERSIONS.split(",")), "draDriver": "25.12"}
PREPARED = ("MPIJob",)
"""Kinds whose CRD only tests/judges/prepare makes."""

needs_upstream = pytest.mark.skipif(not (UPSTREAM / "crds").is_dir(), reason=f"no CRDs at {UPSTREAM}/crds")

LEVELS = ("requiredTopologyLevel", "topology-required-placement", "pack:")
"""The words of KAI and Grove for a required level."""


def the_job(name: str) -> Any:
    return next(each for each in JOBS if each.name == name)


def test_the_page_has_what_the_files_have() -> None:
    assert COUNTER["PAGE"].read_text(encoding="utf-8") == COUNTER["page"]()


def test_every_system_has_every_job_and_no_file_is_left_over() -> None:
    counted = [file for job in JOBS for system in SYSTEMS for file in COUNTER["files"](job, system)]
    assert all(COUNTER["files"](job, system) for job in JOBS for system in SYSTEMS)
    assert sorted(counted) == sorted(FOLDER.glob("*/*"))


def test_lines_are_not_longer_than_the_page_says() -> None:
    lines = [(file.name, line) for file in FOLDER.glob("*/*") for line in COUNTER["written"](file)]
    assert [each for each in lines if len(each[1]) > COUNTER["COLUMNS"]] == []


def test_blanks_and_comments_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("# why\n\na: 1\n  # more\nb: {c: 2}  # here\n", encoding="utf-8")
    assert COUNTER["written"](tmp_path / "job.yaml") == ["a: 1", "b: {c: 2}  # here"]


@needs_upstream
@pytest.mark.parametrize("name", NAMES)
def test_bayplan_places_the_job(name: str) -> None:
    job = the_job(name)
    topology = f"{FOLDER}/{job.topology}.yaml"
    done = bayplan("render", f"{FOLDER}/{name}/bayplan.yaml", "-t", topology, "--target", VERSIONS)
    assert done.returncode == 0, done.stderr
    documents = list(yaml.load_all(done.stdout, yaml.CSafeLoader))
    assert complaints(documents) == []
    assert {image for each in documents for image in images(each)} == {job.image}
    assert any(word in done.stdout for word in LEVELS) == ("level" in job.needs)
    assert ("kind: ComputeDomain" in done.stdout or "mnnvl-group" in done.stdout) == ("nvlink" in job.needs)


@needs_upstream
@pytest.mark.parametrize("name", NAMES)
def test_the_crds_accept_the_manifests(name: str) -> None:
    job = the_job(name)
    documents = list(yaml.load_all((FOLDER / name / "manifests.yaml").read_text("utf-8"), yaml.CSafeLoader))
    assert complaints(documents) == []
    assert {image for each in documents for image in images(each)} == {job.image}


def complaints(documents: Sequence[Any]) -> list[str]:
    """What an API server refuses, but for kinds whose CRD is not there."""
    return [each for each in judge_all(documents, TARGET) if not each.startswith(PREPARED) or "no CRD for" not in each]


def images(value: Any) -> set[str]:
    """The images of all containers in a document."""
    if isinstance(value, Mapping):
        own = {value["image"]} if isinstance(value.get("image"), str) else set()
        return own.union(*map(images, value.values()))
    return set().union(*map(images, value)) if isinstance(value, list) else set()


def verdicts(system: str, files: Sequence[Path]) -> list[dict[str, Any]]:
    """What a system says of files, or a skip if no Python has it."""
    name = f"BAYPLAN_{system.upper()}"
    python = Path(os.environ.get(name, ROOT / ".ci" / system / "bin" / "python"))
    if not python.exists():
        pytest.skip(f"no Python with {system} in {name}")
    script = ROOT / "tests" / "tools" / "intent_judges.py"
    done = subprocess.run([python, script, system, *files], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    if any("ModuleNotFoundError" in each.get("refused", "") for each in found):
        pytest.skip(f"{python} lacks a module: {found[0]['refused']}")
    return found


@pytest.mark.parametrize(
    ("system", "ending"), [("skypilot", "yaml"), ("dstack", "dstack.yml"), ("torchx", "sh")], ids=lambda each: str(each)
)
def test_the_other_systems_accept_their_files(system: str, ending: str) -> None:
    found = verdicts(system, [FOLDER / name / f"{system}.{ending}" for name in NAMES])
    assert [each["images"] for each in found] == [[job.image] for job in JOBS], found
    assert [each["gpus"] * times(name, system) for name, each in zip(NAMES, found, strict=True)] == [
        job.gpus for job in JOBS
    ]


def times(name: str, system: str) -> int:
    """How often a script submits the file beside it."""
    program = {"skypilot": "sky", "dstack": "dstack"}.get(system, "")
    script = FOLDER / name / f"{system}.sh"
    return len(calls(script, program)) if program and script.exists() else 1


@pytest.mark.parametrize(
    ("system", "old", "new"),
    [
        ("skypilot", "num_nodes:", "nodes:"),
        ("dstack", "nodes:", "num_nodes:"),
        ("torchx", "--image", "--picture"),
    ],
)
def test_the_other_systems_refuse_a_wrong_word(system: str, old: str, new: str, tmp_path: Path) -> None:
    ending = {"skypilot": "yaml", "dstack": "dstack.yml", "torchx": "sh"}[system]
    changed = tmp_path / f"wrong.{ending}"
    changed.write_text((FOLDER / "fsdp" / f"{system}.{ending}").read_text("utf-8").replace(old, new), encoding="utf-8")
    (verdict,) = verdicts(system, [changed])
    assert "refused" in verdict


def test_sweeps_have_the_same_trials_everywhere() -> None:
    def trials(words: Sequence[str]) -> set[tuple[str, str]]:
        found = [re.findall(r"(?:lr|LR|decay|DECAY)=([\w.-]+)", " ".join(each)) for each in words]
        return {(lr, decay) for lr, decay in found}

    (gang,) = parse((FOLDER / "sweep" / "bayplan.yaml").read_text("utf-8"))["spec"]["gangs"]
    ours = {(str(lr), str(decay)) for lr in gang["matrix"]["LR"] for decay in gang["matrix"]["DECAY"]}
    assert len(ours) == the_job("sweep").gpus
    for system, program in (("skypilot", "sky"), ("dstack", "dstack"), ("torchx", "torchx")):
        assert trials(calls(FOLDER / "sweep" / f"{system}.sh", program)) == ours, system


OSMO, PYTHON = os.environ.get("BAYPLAN_OSMO", ""), os.environ.get("BAYPLAN_OSMO_PYTHON", sys.executable)
VOLUMES = ("datasets", "checkpoints", "models", "results")
POOL = {
    "name": "pool",
    "backend": "backend",
    "default_platform": "gpu",
    "default_exec_timeout": "10d",
    "default_queue_timeout": "10d",
    "max_exec_timeout": "60d",
    "max_queue_timeout": "60d",
    "platforms": {"gpu": {"allowed_mounts": ["/dev/shm", *(f"/mnt/{each}" for each in VOLUMES)]}},
    "topology_keys": [{"key": key, "label": key} for key in ("spine", "leaf", "rack")],
}


@pytest.mark.skipif(not OSMO, reason="no checkout of OSMO in BAYPLAN_OSMO")
def test_osmo_accepts_and_places_its_files(tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL), encoding="utf-8")
    given = "".join(json.dumps([f"{FOLDER}/{name}/osmo.yaml", []]) + "\n" for name in NAMES)
    command = [PYTHON, ROOT / "tests" / "tools" / "osmo_judge.py", OSMO, tmp_path / "pool.json"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    for job, line in zip(JOBS, done.stdout.splitlines(), strict=True):
        groups = json.loads(line)["groups"]
        tasks = [task for group in groups for task in group["tasks"]]
        assert sum(task["gpu"] or 0 for task in tasks) == job.gpus
        assert {task["image"] for task in tasks} == {job.image}
        domains = [domain for group in groups for domain in group["domains"] if domain["required"]]
        placed = [name for domain in domains for name in domain["tasks"]]
        assert sorted(placed) == sorted(task["name"] for task in tasks if "level" in job.needs)
