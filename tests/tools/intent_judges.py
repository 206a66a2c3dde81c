"""What other systems make of the files of benchmarks/intents: `python intent_judges.py SYSTEM FILE...`.

It needs a Python with the system, and no bayplan. Each line of the output is a JSON object for a file: why the system
refuses it, or the GPUs that it would request and the images.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

CATALOG = "AcceleratorName,Clouds\nH100,Kubernetes\nGB200,Kubernetes\n"
"""The accelerators that SkyPilot otherwise downloads: those of the files."""


def skypilot(file: Path) -> tuple[int, set[str]]:
    """The tasks of a file, as `sky launch` and `sky jobs launch` read it."""
    home = Path(tempfile.mkdtemp())
    os.environ |= {"HOME": str(home), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"}
    for version in (f"v{number}" for number in range(1, 20)):
        (home / ".sky/catalogs" / version / "common").mkdir(parents=True)
        (home / ".sky/catalogs" / version / "common/accelerators.csv").write_text(CATALOG, encoding="utf-8")
    from sky.utils import dag_utils

    data = next(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    given = [[(name, "1") for name, value in data.get(key, {}).items() if value is None] for key in ("envs", "secrets")]
    gpus, images = 0, set()
    for task in dag_utils.load_dag_from_yaml(str(file), *given).tasks:
        copies = task.service.min_replicas if task.service else 1
        for each in task.resources:
            gpus += copies * task.num_nodes * int(sum((each.accelerators or {}).values()))
            images |= {image.removeprefix("docker:") for image in (each.image_id or {}).values()}
    return gpus, images


def dstack(file: Path) -> tuple[int, set[str]]:
    """The configuration, as `dstack apply` reads it."""
    from dstack._internal.core.models.configurations import parse_run_configuration

    found: Any = parse_run_configuration(yaml.safe_load(file.read_text(encoding="utf-8")))
    return sum(each.nodes * (each.resources.gpu.count.min or 0) for each in found.node_groups), {found.image}


def torchx(file: Path) -> tuple[int, set[str]]:
    """The Volcano Jobs of the commands of a script, by a dry run."""
    from torchx.runner import get_runner
    from torchx.schedulers.kubernetes_scheduler import sanitize_for_serialization

    gpus, images = 0, set()
    for _, _, scheduler, component, *arguments in calls(file, "torchx"):
        with get_runner("judge") as runner:
            options = {"queue": "research", "namespace": "ml"}
            made: Any = runner.dryrun_component(component, arguments, scheduler, options)
        for task in sanitize_for_serialization(made.request.resource)["spec"]["tasks"]:
            container = task["template"]["spec"]["containers"][0]
            gpus += task["replicas"] * int(container["resources"]["limits"].get("nvidia.com/gpu", 0))
            images.add(container["image"])
    return gpus, images


def calls(script: Path, program: str) -> list[list[str]]:
    """The arguments of each call of a program by a shell script, which calls a stub instead."""
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder, program)
        stub.write_text('#!/bin/sh\nprintf "%s\\037" "$@"; echo\n', encoding="utf-8")
        stub.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        command, env = ["bash", "-e", script.name], {"PATH": path, "HF_TOKEN": "1"}
        done = subprocess.run(command, capture_output=True, text=True, cwd=script.parent, env=env)
    if done.returncode:
        raise ValueError(done.stderr)
    return [line.split("\037")[:-1] for line in done.stdout.splitlines()]


SYSTEMS = {each.__name__: each for each in (skypilot, dstack, torchx)}


def judged(system: str, names: Iterable[str]) -> Iterable[dict[str, Any]]:
    """The verdict on each file."""
    for file in [Path(each).resolve() for each in names]:
        os.chdir(file.parent)
        try:
            gpus, images = SYSTEMS[system](file)
        except BaseException as problem:  # TorchX exits when it refuses arguments
            yield {"refused": f"{type(problem).__name__}: {problem}"[:600]}
        else:
            yield {"gpus": gpus, "images": sorted(images)}


def main() -> None:
    """Judge each file."""
    for verdict in judged(sys.argv[1], sys.argv[2:]):
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
