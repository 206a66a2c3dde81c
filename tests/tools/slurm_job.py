"""Runs what an sbatch script does without Slurm: stubs of `srun`, `scontrol`, `sbcast` and `sbatch` in a folder.

Every command that a task becomes is a stub too: it writes down its words and its environment. Knows
nothing of bayplan.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

SRUN = r"""#!/bin/bash
# srun [options] sh -c TEXT: one task after the other, as Slurm numbers them.
group="" nodes="" tasks="" relative=0 each=1
while [ "${1#--}" != "$1" ]; do
  case "$1" in
    --het-group=*) group=${1#*=} ;;
    --nodes=*) nodes=${1#*=} ;;
    --ntasks=*) tasks=${1#*=} ;;
    --relative=*) relative=${1#*=} ;;
    *) echo "$1" >> "$STUB/log.options" ;;
  esac
  shift
done
suffix=${group:+_HET_GROUP_$group}
list=SLURM_JOB_NODELIST$suffix
each=TASKS_PER_NODE$suffix
mapfile -t names < <(scontrol show hostnames "${!list}")
nodes=${nodes:-${#names[@]}}
each=${!each}
[ -z "$tasks" ] || [ "$tasks" = $((nodes * each)) ] || { echo "tasks $tasks, nodes $nodes" >&2; exit 9; }
[ $((relative + nodes)) -le "${#names[@]}" ] || { echo "too few nodes" >&2; exit 9; }
for ((i = 0; i < nodes * each; i++)); do
  SLURM_PROCID=$i SLURM_NODEID=$((i / each)) NODE=${names[relative + i / each]} "$@" || exit $?
done
"""
SCONTROL = r"""#!/bin/bash
# scontrol show hostnames n[0-7]
[ "$1 $2" = "show hostnames" ] || { echo "$@" >> "$STUB/log.scontrol"; exit 0; }
base=${3%%[*} last=${3##*-}
for ((i = 0; i <= ${last%]}; i++)); do echo "$base$i"; done
"""
SBCAST = r"""#!/bin/bash
echo "$@" >> "$STUB/log.sbcast"
"""
SBATCH = r"""#!/bin/bash
# sbatch --parsable ... < script: keeps the script, prints a number.
number=$(($(ls "$STUB/jobs" | wc -l) + 1))
cat > "$STUB/jobs/$number"
echo "$@" > "$STUB/jobs.$number"
echo "$number;cluster"
"""
COMMAND = r"""#!/bin/sh
{ printf '\001'; for word; do printf '%s\0' "W$word"; done; env -0 | sed -z 's/^/E/'; } > "$STUB/task.$$"
exit "${EXIT:-0}"
"""


class Task(NamedTuple):
    """One task as it was started."""

    env: dict[str, str]
    words: list[str]  # without the command itself


class Ran(NamedTuple):
    """What a script did."""

    status: int
    stderr: str
    tasks: list[Task]
    options: list[str]  # of every srun
    scontrol: list[str]
    sbcast: list[str]
    jobs: list[tuple[str, str]]  # of a submit script: words of sbatch, the script


def sections(script: str) -> list[dict[str, str]]:
    """The options of the `#SBATCH` lines, section by section."""
    made: list[dict[str, str]] = [{}]
    for line in script.splitlines():
        if line == "#SBATCH hetjob":
            made.append({})
        elif found := re.match(r"#SBATCH --([a-z-]+)(?:=(.*))?$", line):
            made[-1][found[1]] = found[2] or ""
        elif not line.startswith("#"):
            break
    return made


def check(script: str) -> None:
    """bash can read it."""
    result = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def run(script: str, commands: set[str], **env: str) -> Ran:
    """Runs a script as its batch step would be run."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "jobs").mkdir()
        stubs = {"srun": SRUN, "scontrol": SCONTROL, "sbcast": SBCAST, "sbatch": SBATCH}
        for name, text in {**stubs, **dict.fromkeys(commands, COMMAND)}.items():
            (home / name).write_text(text)
            (home / name).chmod(stat.S_IRWXU)
        given = {"PATH": f"{home}:{os.environ['PATH']}", "STUB": folder, "SLURM_JOB_ID": str(os.getpid()), **env}
        result = subprocess.run(
            ["bash", "-c", script, "script"],
            env={**given, **_nodes(script)},
            text=True,
            capture_output=True,
            check=False,
        )
        lines = {each: _lines(home / f"log.{each}") for each in ("options", "scontrol", "sbcast")}
        jobs = [
            (" ".join(_lines(home / f"jobs.{n}")), (home / "jobs" / str(n)).read_text())
            for n in range(1, len(list((home / "jobs").iterdir())) + 1)
        ]
        tasks = [_task(path.read_text()) for path in sorted(home.glob("task.*"))]
    return Ran(result.returncode, result.stderr, tasks, lines["options"], lines["scontrol"], lines["sbcast"], jobs)


def _task(text: str) -> Task:
    fields = text.removeprefix("\1").split("\0")[:-1]
    env = dict(field[1:].partition("=")[::2] for field in fields if field[0] == "E")
    return Task(env, [field[1:] for field in fields if field[0] == "W"])


def _nodes(script: str) -> dict[str, str]:
    """The nodes that each section would be given, in variables as Slurm sets them."""
    parts: list[dict[str, Any]] = sections(script)
    made = {}
    for number, part in enumerate(parts):
        suffix = f"_HET_GROUP_{number}" if len(parts) > 1 else ""
        made[f"SLURM_JOB_NODELIST{suffix}"] = f"h{number}n[0-{int(part.get('nodes', 1)) - 1}]"
        made[f"TASKS_PER_NODE{suffix}"] = part.get("ntasks-per-node", "1")
    return made


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
