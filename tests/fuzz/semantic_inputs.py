"""Random files of other systems: what `bayplan import` prints of one renders to the bytes of the file itself.

PYTHONPATH=generator:tests python -m fuzz.semantic_inputs --count 300
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import yaml

import random_scripts
from bayplan.backends import NAMES
from tools.data import parse
from tools.run import EXAMPLES, bayplan

Data = dict[str, Any]
IMAGE = "registry.example.com/x:1"


def topology() -> Data:
    """The hall of the examples, with all that files of other systems refer to."""
    text = (EXAMPLES / "sbatch-torchrun" / "topology.yaml").read_text(encoding="utf-8")
    made: Data = parse(text)
    made["spec"] |= {
        "dataMovers": {"s3": {"image": "rclone/rclone:1.71", "secret": "s3-keys"}},
        "dataStore": "s3://scratch/bayplan",
        "schedulers": {"slurm": {"plugin": "block", "sbatch": {"image": IMAGE}}},
    }
    made["spec"]["defaults"]["priorityClassName"] = "osmo-normal"
    return made


def osmo(chance: Random) -> str:
    """A workflow of OSMO: tasks, or groups of them, that use what earlier ones made."""
    names: list[str] = []
    groups = []
    for number in range(chance.randint(1, 3)):
        tasks = [_task(chance, f"t{number}-{each}", list(names)) for each in range(chance.choice((1, 1, 2, 3)))]
        names += [task["name"] for task in tasks]
        if len(tasks) > 1:
            tasks[chance.randrange(len(tasks))]["lead"] = True
        groups.append({"name": f"g{number}", "tasks": tasks})
        if chance.random() < 0.3:
            groups[-1]["ignoreNonleadStatus"] = chance.random() < 0.5
    levels = chance.sample(("zone", "spine", "rack"), chance.choice((0, 1, 1, 2)))
    resources = {
        name: {
            "cpu": chance.choice((1, 4, 16)),
            "gpu": chance.choice((0, 1, 4, 4)),
            "memory": chance.choice(("4Gi", "64Gi")),
            "storage": chance.choice(("1Gi", "100Gi")),
            **({"topology": [{"key": each} for each in levels]} if levels else {}),
        }
        for name in ("default", "other")
    }
    spec: Data = {"name": chance.choice(("w", "train-1")), "resources": resources}
    if chance.random() < 0.3:
        spec["timeout"] = {"exec_timeout": chance.choice(("1h", "90m", "2d"))}
    if all(len(each["tasks"]) == 1 for each in groups) and chance.random() < 0.5:
        spec["tasks"] = [task for each in groups for task in each["tasks"]]
    else:
        spec["groups"] = groups
    return yaml.safe_dump({"workflow": spec}, sort_keys=False)


def _task(chance: Random, name: str, earlier: list[str]) -> Data:
    task: Data = {"name": name, "image": IMAGE, "command": chance.choice((["run"], ["sh", "-c"], ["bash", "/tmp/a"]))}
    optional: Data = {
        "args": ["{{host:" + name + "}}", "a: b # c"],
        "environment": {"A": "1", "B": "x y"},
        "resource": "other",
        "files": [{"path": "/tmp/a", "contents": "echo hi\n"}],
        "outputs": [{"url": "s3://models/run"}],
        "inputs": [{"task": earlier[-1]}] if earlier else [{"url": "s3://sets/a", "regex": ".*[.]pt$"}],
        "checkpoint": [{"path": "/c", "url": "s3://models/c", "frequency": "10m"}],
        "credentials": {"keys": "/etc/keys"},
        "exitActions": {"RESCHEDULE": "1", "FAIL": "20"},
    }
    return task | {key: each for key, each in optional.items() if chance.random() < 0.25}


def torchx(chance: Random) -> str:
    """An AppDef of TorchX."""
    roles = []
    for number in range(chance.choice((1, 1, 2))):
        replicas = chance.randint(1, 6)
        role: Data = {
            "name": f"role{number}",
            "image": IMAGE,
            "entrypoint": chance.choice(("bash", "python", "torchrun")),
            "args": chance.choice((["-c", "run ${app_id} ${replica_id}"], ["train.py", "--a=b c"], [])),
            "env": chance.choice(({}, {"A": "1", "LOGLEVEL": "WARNING"})),
            "num_replicas": replicas,
            "max_retries": chance.choice((0, 2)),
            "retry_policy": "APPLICATION",
            "resource": {"cpu": chance.choice((1, 8)), "gpu": chance.choice((0, 1, 4)), "memMB": 4096},
            "port_map": chance.choice(({}, {"c10d": 29500})),
            "mounts": chance.choice(([], [{"src": "claim", "dst_path": "/data", "read_only": True}])),
        }
        if chance.random() < 0.2:
            role["min_replicas"] = chance.randint(1, replicas)
        roles.append(role)
    placed = {"bayplan.dev/required": "rack"} if chance.random() < 0.3 else {}
    return json.dumps({"name": "app", "roles": roles, "metadata": placed})


def sbatch(chance: Random) -> str:
    """A batch script with a random body."""
    nodes = chance.choice((1, 2, 4, 8))
    lines = [f"#SBATCH --nodes={nodes}", "#SBATCH --ntasks-per-node=1", "#SBATCH --partition=research"]
    optional = (
        "--job-name=llm",
        "--gpus-per-node=4",
        "--cpus-per-task=8",
        "--mem=64G",
        "--time=12:00:00",
        "--exclusive",
        f"--segment={max(1, nodes // 2)}",
        "--requeue",
        "--account=phys",
    )
    lines += [f"#SBATCH {each}" for each in optional if chance.random() < 0.4]
    simple = "export A=1\nsrun torchrun --nnodes=$SLURM_NNODES train.py\n"
    body = simple if chance.random() < 0.5 else random_scripts.body(chance.randrange(10_000))
    return "\n".join(["#!/bin/bash", *lines, "", body])


FORMATS: Mapping[str, tuple[str, Callable[[Random], str]]] = {
    "osmo": ("osmo.yaml", osmo),
    "torchx": ("app.json", torchx),
    "sbatch": ("job.sbatch", sbatch),
}
"""Format -> the name of its file, and what draws one."""


def complaint(word: str, seed: int, folder: Path) -> str | None:
    """What differs between a file and its import: an empty text if nothing; None if bayplan refuses the file."""
    name, drawn = FORMATS[word]
    chance = Random(f"{word} {seed}")
    (folder / name).write_text(drawn(chance), encoding="utf-8")
    (folder / "topology.yaml").write_text(yaml.safe_dump(topology()), encoding="utf-8")
    scheduler = chance.choice([each for each in NAMES if each != "sunk"])
    options = ["-t", "topology.yaml", "-s", scheduler, "--accept", ACCEPTED, "-v"]
    direct = bayplan("render", name, "--from", word, *options, cwd=folder)
    if direct.returncode == 1:
        return None
    printed = bayplan("import", name, "--from", word, "-t", "topology.yaml", cwd=folder)
    (folder / "native.yaml").write_text(printed.stdout, encoding="utf-8")
    again = bayplan("render", "native.yaml", *options, cwd=folder)
    if (direct.returncode, printed.returncode, again.returncode) != (0, 0, 0):
        return (
            f"{scheduler}: {direct.returncode} {printed.returncode} {again.returncode}\n{printed.stderr}{again.stderr}"
        )
    twice = bayplan("import", "native.yaml", cwd=folder)
    if twice.stdout != printed.stdout:
        return f"{scheduler}: the import of an import differs"
    return "" if again.stdout == direct.stdout else f"{scheduler}: other bytes"


ACCEPTED = "F606,F607,F608,F609,F609,F615,F625,F631,F632,F607,F680,F683,F683,F683,F688,F695,F712,F713,F712,F715"


def main(arguments: list[str]) -> int:
    """The campaign from the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.semantic_inputs", description="imports of random files")
    parser.add_argument("--count", type=int, default=100, help="files of each format")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(arguments)
    tally: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for word in FORMATS:
            for seed in range(options.seed, options.seed + options.count):
                found = complaint(word, seed, Path(folder))
                outcome = "refused" if found is None else "different" if found else "same"
                tally[word, outcome] += 1
                if found:
                    print(f"{word} {seed}: {found}", flush=True)
    print(dict(tally))
    return 1 if any(outcome == "different" for _, outcome in tally) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
