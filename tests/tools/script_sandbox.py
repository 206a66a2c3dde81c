"""What `script_judge.py` runs in its sandbox: it makes the stubs of all programs, and runs processes one by one.

The folder /stub has the task, and a log for each process: the programs that it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from typing import Any

RECORD = r"""#!/bin/dash
# Writes down how it was started, unless a command substitution of the batch host asks it for something.
[ "${JUDGE_STEP:-}" != 1 ] && [ -p /dev/stdout ] && exit 0
[ -n "$JUDGE_AS" ] && name="$JUDGE_AS" || name="$0"
case "$name" in /stubs/*) name="${name##*/}" ;; esac
{ printf 'P%s\0' "$name"; for word; do printf 'W%s\0' "$word"; done
  printf 'D%s\0' "$PWD"
  for word; do
    word="${word##*=}"
    case "$word" in /usr/*|/etc/*|/bin/*|/dev/*|/proc/*) ;; *)
      [ -f "$word" ] && { printf 'F%s=' "$word"; cat "$word"; printf '\0'; } ;; esac
  done
  env -0 | sed -z 's/^/E/'; printf '\001'; } > "/stub/record.$$" 2>/dev/null
cat "/stub/record.$$" >> "$JUDGE_LOG"
rm -f "/stub/record.$$"
[ "${JUDGE_STEP:-}" != 1 ] || [ -z "${JUDGE_FAIL:-}" ] || exit 3
"""
SHELL = r"""#!/bin/bash
# bash -c TEXT and scripts that exist run; other scripts are programs.
case "${1:-}" in
  -*c*|"") exec /bin/NAME "$@" ;;
  -*) [ -f "${2:-}" ] && exec /bin/NAME "$@" ;;
  *) [ -f "$1" ] && exec /bin/NAME "$@" ;;
esac
JUDGE_AS=NAME exec /stubs/record "$@"
"""
RC = r"""
command_not_found_handle() { JUDGE_AS="$1" /stubs/record "${@:2}"; }
cd() { local to="${@: -1}"; [ $# -eq 0 ] || [ "$to" = - ] || mkdir -p -- "$to" 2>/dev/null; builtin cd "$@"; }
pushd() { mkdir -p -- "${@: -1}" 2>/dev/null; builtin pushd "$@"; }
source() { [ ! -f "$1" ] || builtin source "$@"; }
. () { source "$@"; }
module() { :; }
ml() { :; }
unset RANDOM; RANDOM=10000
[ -z "${JUDGE_PS4:-}" ] || PS4="$JUDGE_PS4"  # bash does not take it from the environment of root
"""
MPIRUN = r"""#!/bin/dash
# mpirun. The line that bayplan writes for `srun --mpi` runs its program as some of the ranks.
[ "$1 $3 ${4%%:*} $5 $6" = "-np --map-by ppr --bind-to none" ] || exec /stubs/record "$@"
JUDGE_COUNT="$2" slots="${4#*:}"
slots="${slots%%:*}"
shift 6
for rank in $(printf '%s\n' 0 1 $((JUDGE_COUNT - 1)) | sort -nu); do
  [ "$rank" -lt "$JUDGE_COUNT" ] || continue
  export JUDGE_TASK="$rank" JUDGE_TASK_NODE="node$((rank / slots))" JUDGE_COUNT
  export OMPI_COMM_WORLD_RANK="$rank" OMPI_COMM_WORLD_SIZE="$JUDGE_COUNT"
  export OMPI_COMM_WORLD_LOCAL_RANK=$((rank % slots)) OMPI_COMM_WORLD_LOCAL_SIZE="$slots"
  "$@"
done
"""
SILENT = (
    *("nvidia-smi", "squeue", "sleep", "sinfo", "ibstat", "nproc", "scancel", "sacct", "nvcc", "rocm-smi", "conda"),
    *("lscpu", "free", "df", "clear", "tput", "reset", "pkill", "killall", "fuser", "shutdown", "reboot"),
)
SRUN = r"""#!/usr/bin/python3
import json, os, subprocess, sys
job = json.load(open("/stub/task.json"))["job"]
words, components, started = sys.argv[1:], [[]], []
for word in words:
    if word == ":":
        components.append([])
    else:
        components[-1].append(word)
code = 0
for words in components:
    options, at = {}, 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            known = job["options"]
            likely = [each for each in known if each == name] or [each for each in known if each.startswith(name)]
            name = likely[0] if likely else name
            if not equals and job["options"].get(name):
                value, at = words[at] if at < len(words) else "", at + 1
        else:
            name, value = word[1], word[2:].removeprefix("=")
            if job["letters"].get(name) and not value:
                value, at = words[at] if at < len(words) else "", at + 1
            name = {"N": "nodes", "n": "ntasks", "D": "chdir", "w": "nodelist"}.get(name, name)
        options[name] = value
    program = words[at:]
    nodes = int(str(options.get("nodes", job["nodes"])).split("-")[-1])
    per_node = int(options.get("ntasks-per-node", options.get("tasks-per-node", 0)) or 0)
    tasks = int(options.get("ntasks", 0) or 0)
    if not tasks:
        tasks = nodes * (per_node or job["per_node"]) if per_node or "nodes" in options else job["tasks"]
    nodes = min(nodes, tasks)
    each = max(1, tasks // nodes)
    env = {**os.environ, "SLURM_NTASKS": str(tasks), "JUDGE_STEP": "1"}
    if "export" in options:
        parts = [part for part in options["export"].split(",") if part]
        if "ALL" not in parts:
            keep = {"PATH", "JUDGE_LOG", "BASH_ENV", "JUDGE_FAIL", "JUDGE_STEP", *parts}
            env = {name: value for name, value in env.items() if name in keep or name.startswith("SLURM")}
        env.update(part.split("=", 1) for part in parts if "=" in part)
    inside = "container-image" in options or "container-name" in options or job["container"]
    folder = options.get("container-workdir") or (HERE if inside else options.get("chdir") or os.getcwd())
    os.makedirs(folder, exist_ok=True)
    for rank in sorted({0, min(1, tasks - 1), tasks - 1}):
        node = rank // each
        own = {"SLURM_PROCID": rank, "SLURM_NODEID": node, "SLURM_LOCALID": rank % each}
        own |= {"JUDGE_TASK": rank, "JUDGE_COUNT": tasks}
        own |= {"JUDGE_TASK_NODE": f"node{node}", "JUDGE_PER_NODE": "1", "SLURMD_NODENAME": f"node{node}"}
        full = {**env, **{name: str(value) for name, value in own.items()}, "PWD": folder}
        try:
            code = subprocess.run(program, env=full, cwd=folder, stdin=subprocess.DEVNULL).returncode or code
        except OSError:
            words = ["/stubs/record", *program[1:]]
            code = subprocess.run(words, env={**full, "JUDGE_AS": program[0]}, cwd=folder).returncode or code
sys.exit(code)
"""
DATE = r"""#!/bin/dash
# A time as a number is 10000; another one is the name of the job.
case "$(printf %s "$*" | sed -E 's/%[CdGHIjmMNsSuVwyY]|[0-9]//g')" in "+"|"-u +") echo 10000 ;; *) echo NAME ;; esac
"""
SCONTROL = r"""#!/bin/dash
# scontrol show hostnames node[0-7]
case "$1 $2" in "show hostname"*) ;; "show job") echo "   Command=/job/checkout/a/b/script.sh"; exit ;; *) exit ;; esac
list="${3:-$SLURM_JOB_NODELIST}"
case "$2" in *=*) list="${2#*=}" ;; esac
case "$list" in
  *\[*) last="${list##*-}"; seq -f 'node%g' 0 "${last%]}" ;;
  *) printf '%s\n' "$list" | tr , '\n' ;;
esac
"""


def write(path: str, text: str) -> None:
    """An executable file."""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)


def stubs(task: dict[str, Any]) -> None:
    """Every program that a script may start."""
    name = task["job"]["name"]
    write("/stubs/record", RECORD)
    for program in ("python", "python3", "torchrun", "accelerate", "deepspeed", "mpiexec", "pip", "git", "ssh"):
        write(f"/stubs/{program}", RECORD)
    for program in task["programs"]:
        if program not in ("bash", "sh", "zsh", "mpirun"):
            write(program if program.startswith("/") else f"/stubs/{program}", RECORD)
    write("/stubs/mpirun", MPIRUN)
    for program in SILENT:
        write(f"/stubs/{program}", "#!/bin/dash\n")
    for program in ("bash", "sh"):
        write(f"/stubs/{program}", SHELL.replace("NAME", program))
    write("/stubs/srun", SRUN.replace("HERE", repr(task["here"])))
    write("/stubs/scontrol", SCONTROL)
    write("/stubs/hostname", '#!/bin/dash\necho "${JUDGE_TASK_NODE:-node0}"\n')
    write("/stubs/getent", '#!/bin/dash\necho "$2"\n')
    write("/stubs/date", DATE.replace("NAME", name))
    write("/stubs/comm", "#!/bin/dash\n")
    write("/stubs/shuf", "#!/bin/dash\necho 10000\n")
    write("/stubs/uuidgen", "#!/bin/dash\necho 10000\n")
    write("/stubs/sleep", "#!/bin/dash\n")
    write("/stubs/rc", RC)
    write("/job/checkout/a/b/script.sh", "")
    for is_folder, path in task["job"]["files"]:
        if not os.path.exists(path):
            write(f"{path}/file" if is_folder else path, "")


def main() -> None:
    """Run the task."""
    with open("/stub/task.json") as file:
        task = json.load(file)
    stubs(task)
    for number, job in enumerate(task["jobs"]):
        env = {"PATH": "/stubs:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **job["env"], "JUDGE_LOG": f"/stub/log/{number}"}
        env["BASH_ENV"] = "/stubs/rc"
        if text := env.pop("TEXT", ""):
            write(f"{task['here']}.sh", text)
        else:
            env.setdefault("JUDGE_STEP", "1")
        for folder in (
            job["folder"],
            *(value for name, value in job["env"].items() if re.fullmatch(r"/fsx/\w+", value)),
        ):
            with contextlib.suppress(OSError):
                os.makedirs(folder, exist_ok=True)
        program = shutil.which(job["argv"][0], path=env["PATH"])
        argv = job["argv"] if program else ["/stubs/record", *job["argv"][1:]]
        env |= {} if program else {"JUDGE_AS": job["argv"][0]}
        env["PWD"] = job["folder"]
        with subprocess.Popen(
            [program or argv[0], *argv[1:]], env=env, cwd=job["folder"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=open(f"/stub/errors.{number}", "w"), start_new_session=True,
        ) as process:  # fmt: skip
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
