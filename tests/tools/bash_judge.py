"""Compares the steps that bash starts for a script with those of the imported workflow.

Every program is a stub that writes down its words, its environment, its working directory and the files there. `srun`
runs its program once, as the task with rank 0. The workflow's commands run with the same stubs, as a kubelet runs them.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bayplan import formats
from bayplan.core.diagnostics import AT, Diagnostic, has_errors
from bayplan.model.formats import Context, Source

HEAD = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
PROGRAMS = ("torchrun", "python", "python3", "train", "serve", "accelerate", "deepspeed", "pip", "rm", "run.sh")
LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun")
SILENT = ("module", "nvidia-smi", "squeue", "sleep", "conda", "nproc", "ulimit", "sinfo", "which", "ibstat", "git")
RECORD = r"""#!/bin/sh
# Writes down how it was started.
{ printf 'P%s\0' "${0##*/}"; for word; do printf 'W%s\0' "$word"; done
  printf 'D%s\0' "$PWD"
  case "$PWD" in "$STUB"/*) ;; *) set -f ;; esac
  for file in *; do [ -f "$file" ] && { printf 'F%s=' "$file"; cat "$file"; printf '\0'; }; done
  env -0 | sed -z 's/^/E/'; printf '\001'; } > "$STUB/record.$$"
cat "$STUB/record.$$" >> "$STUB/log"
"""
SRUN = r"""#!/bin/bash
# srun [options] PROGRAM: runs it once, as the task with rank 0.
while [ $# -gt 0 ]; do
  case "$1" in
    --export=*)
      case ",${1#*=}," in *,ALL,*) ;; *) for name in ${!E@} ${!A@} ${!B@}; do export -n "$name"; done ;; esac
      IFS=, read -ra given <<< "${1#*=}"; shift
      for each in "${given[@]}"; do case "$each" in ALL|NONE) ;; *) export "$each" ;; esac; done ;;
    --chdir=*) cd "${1#*=}"; shift ;;
    -w|-N|-n|-c|-p|-J|-o|-e|-G|-t|-A|-K?*) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0
exec "$@"
"""
MPIRUN = (
    r"""#!/bin/sh
# mpirun [options] PROGRAM. In a pod, the line that bayplan writes for `srun --mpi` runs its program, as rank 0.
if [ "${RANKS:-}" = 1 ] && [ "$1 $3 ${4%%:*} $5 $6" = "-np --map-by ppr --bind-to none" ]; then
  export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE="$2" OMPI_COMM_WORLD_LOCAL_SIZE=1
  shift 6
  exec "$@"
fi
"""
    + RECORD
)
HOSTS = '#!/bin/sh\n[ "$1 $2" = "show job" ] || printf "node0\\nnode1\\n"\n'
SLURM = {
    **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NAME"), "train"),
    **dict.fromkeys(("SLURM_JOB_NODELIST", "SLURM_NODELIST"), "node[0-1]"),
    **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS"), "2"),
    **dict.fromkeys(("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_RESTART_COUNT"), "0"),
    **dict.fromkeys(("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"), "4"),
    "SLURM_NTASKS_PER_NODE": "1",
    "SLURM_GPUS": "8",
    "SLURMD_NODENAME": "node0",
    "HOSTNAME": "node0",
}
PODS = {"MASTER_ADDR": "node0", "MASTER_PORT": "29500", "NODE_RANK": "0", "NNODES": "2"}


class Start(NamedTuple):
    """A program that somebody started: its words, folder, environment and the files of its folder."""

    words: tuple[str, ...]
    folder: str
    env: dict[str, str]
    files: dict[str, str]


class Verdict(NamedTuple):
    """`equal`, `refused`, `different` or `unfit` (bash refuses the script), and what each side starts."""

    result: str
    bash: tuple[Start, ...] = ()
    workflow: tuple[Start, ...] = ()
    findings: tuple[Diagnostic, ...] = ()


class Judge:
    """The stubs in a folder. Use it as a context."""

    def __enter__(self) -> Judge:
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        stubs = {**dict.fromkeys(PROGRAMS, RECORD), **dict.fromkeys(SILENT, "#!/bin/sh\n"), "srun": SRUN}
        stubs |= dict.fromkeys(LAUNCHERS, MPIRUN)
        stubs |= {"scontrol": HOSTS, "hostname": "#!/bin/sh\necho node0\n", "getent": '#!/bin/sh\necho "$2"\n'}
        stubs |= {
            "date": '#!/bin/sh\ncase "$*" in *%s*) echo 10000;; *) echo train;; esac\n',
            "uuidgen": "#!/bin/sh\necho 10000\n",
        }
        (self.home / "bin").mkdir()
        for name, text in stubs.items():
            path = self.home / "bin" / name
            path.write_text(text)
            path.chmod(0o755)
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()

    def _run(self, words: list[str], env: dict[str, str], folder: str, names: set[str]) -> tuple[int, list[Start]]:
        log = self.home / "log"
        log.write_bytes(b"")
        path = f"{self.home}/bin:/usr/bin:/bin"
        given = {"STUB": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", **env}
        nowhere = subprocess.DEVNULL
        try:
            with subprocess.Popen(
                words, env=given, cwd=folder, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            ) as process:
                code = process.wait(20)
                with contextlib.suppress(ProcessLookupError):  # what still runs in the background
                    os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            code = 127
        text = log.read_text(errors="surrogateescape").replace(path, "PATHS").replace(str(self.home), "STUB")
        return code, [_start(part, names) for part in text.split("\1")[:-1]]

    def bash(self, script: str, names: set[str]) -> tuple[int, list[Start]]:
        """What bash starts."""
        with tempfile.TemporaryDirectory(dir=self.home) as folder:
            if subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).returncode:
                return 2, []
            code, starts = self._run(["bash", "-c", script], dict(SLURM), folder, names)
            return code, [each._replace(folder=_folder(each.folder, folder)) for each in starts]

    def workflow(self, flow: Any, names: set[str], ranks: bool = False) -> list[Start]:
        """What the pods with rank 0 of a workflow start. `ranks`: mpirun starts what srun started."""
        result = []
        for pods in (pods for gang in flow.gangs for pods in _pod_sets(gang)):
            nodes = str(pods.replicas)
            rendezvous = {**PODS, "NNODES": nodes}
            env = {**rendezvous, **{name: _expanded(value, rendezvous) for name, value in (pods.env or {}).items()}}
            words = [_expanded(word, env) for word in pods.command]
            if pods.launcher:
                words = ["sh", "-c", 'eval "${MPI_BEFORE:-}"; exec "$@"', "sh", *words]
                env |= {"RANKS": str(int(ranks))}
            with tempfile.TemporaryDirectory(dir=self.home) as folder:
                there = pods.working_dir or folder
                starts = self._run(words, env, there, names)[1]
                assert all(pods.launcher for each in starts if each.words[0] in LAUNCHERS)
                result += [each._replace(folder=_folder(each.folder, folder)) for each in starts]
        return result

    def judge(self, body: str, head: str = HEAD, **variables: str) -> Verdict:
        """The verdict on the body of a script."""
        script = head + body
        names = set(re.findall(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=", body)) - {"SLURM_JOB_ID", "STUB"}
        names |= set(re.findall(r"export ([A-Za-z_]\w*)", body)) | set(re.findall(r"read (?:-\w+ )*(\w+)", body))
        source = Source("sbatch", {"image": "registry.example.com/train:1", **variables})
        found = formats.documents("train.sbatch", script.encode(), "workflow", source)
        findings, value = found.diagnostics, None
        if found.value is not None:
            made = formats.workflow(found.value[0], "sbatch", Context(None))
            findings, value = (*findings, *made.diagnostics), made.value
        if value is None:
            placed = any(AT in each.route for each in findings if has_errors((each,)))
            return Verdict("refused" if placed else "different", findings=findings)
        code, left = self.bash(script, names)
        if code == 2 and not left:
            return Verdict("unfit", findings=findings)
        codes = {each.code for each in findings}
        right = self.workflow(value, names, "W639" in codes)
        verdict = "equal" if _same(left, right, codes) else "different"
        return Verdict(verdict, tuple(left), tuple(right), findings)


def _same(left: list[Start], right: list[Start], codes: set[str]) -> bool:
    if len(left) != len(right):
        return False
    one, two = sorted(left, key=_key), sorted(right, key=_key)
    for a, b in zip(one, two, strict=True):
        files = a.files == b.files or (codes & {"W613"} and b.files.items() <= a.files.items())
        env = {name: value for name, value in b.env.items() if name in a.env or name not in PODS}
        if "W639" in codes and a.words[0] in LAUNCHERS:
            a = a._replace(words=_without_nodes(a.words))
        if "W616" in codes:  # a number that somebody picks
            a = a._replace(env={name: value for name, value in a.env.items() if "PORT" not in name})
            env = {name: value for name, value in env.items() if "PORT" not in name}
        if a.words != b.words or a.folder != b.folder or a.env != env or not files:
            return False
    return True


def _without_nodes(words: tuple[str, ...]) -> tuple[str, ...]:
    """An mpirun line without the options that name the two nodes of the job."""
    options = {"-hostfile", "--hostfile", "-machinefile", "--machinefile", "-H", "-host", "--host", "-f", "-hosts"}
    gone = {at for at, word in enumerate(words) if word in options}
    return tuple(word for at, word in enumerate(words) if at not in gone and at - 1 not in gone)


def _key(start: Start) -> tuple[Any, ...]:
    return (start.words, start.folder, sorted(start.env.items()))


def _start(text: str, names: set[str]) -> Start:
    fields = text.split("\0")[:-1]
    words = tuple(field[1:] for field in fields if field[:1] in "PW")
    env = dict(field[1:].partition("=")[::2] for field in fields if field[:1] == "E")
    files = dict(field[1:].partition("=")[::2] for field in fields if field[:1] == "F")
    folder = next(field[1:] for field in fields if field[:1] == "D")
    return Start(words, folder, {name: value for name, value in env.items() if name in names}, files)


def _folder(seen: str, start: str) -> str:
    return "." if seen.removeprefix("STUB/") == os.path.basename(start) else seen


def _pod_sets(group: Any) -> Iterator[Any]:
    yield from getattr(group, "pod_sets", ())
    for each in getattr(group, "groups", ()):
        yield from _pod_sets(each)


def _expanded(text: str, env: dict[str, str]) -> str:
    """`$(NAME)` and `$$` as a kubelet replaces them, and placeholders of hosts."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else env.get(match[1], match[0])

    return re.sub(r"@node-0-([0-9]+)@", r"node\1", re.sub(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)", value, text))
