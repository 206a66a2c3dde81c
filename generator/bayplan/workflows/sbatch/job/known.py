"""Commands that stand beside steps in scripts, and what becomes of them."""

from __future__ import annotations

import re

SILENT = frozenset(("true", "false", ":", "wait", "exit", "return", "set", "shopt", "test", "[", "[[", "exec", "shift"))
"""They do nothing that anybody could ask about."""

QUIET = SILENT | frozenset(
    [
        "echo",
        "printf",
        "date",
        "hostname",
        "pwd",
        "env",
        "printenv",
        "whoami",
        "id",
        "uname",
        "uptime",
        "lscpu",
        "free",
        "df",
        "du",
        "ls",
        "cat",
        "nvidia-smi",
        "nvcc",
        "which",
        "type",
        "sleep",
        "squeue",
        "sinfo",
        "sacct",
        "sstat",
        "scontrol",
        "sattach",
        "scancel",
        "trap",
        "clear",
        "nproc",
        "ibstat",
        "ibv_devinfo",
        "lsof",
        "ps",
        "top",
        "tee",
        "grep",
        "rocm-smi",
        "ulimit",
        "stat",
        "wc",
        "tail",
        "head",
        "sort",
        "times",
        "logger",
        "local",
        "unalias",
        "hash",
        "alias",
        "kill",
        "jobs",
        "disown",
    ]
)
"""They print, look or wait: nothing that a task could miss."""

SETUP = frozenset(
    ["module", "ml", "source", ".", "conda", "mamba", "micromamba", "spack", "lmod", "eval", "activate", "enroot"]
)
"""They set up the software of a node, which a pod has in its image."""

EACH = frozenset(["mkdir", "umask"])
"""They can be done once more in every pod."""

LAUNCHERS = frozenset(["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "pdsh", "clush", "ssh", "parallel"])
"""They start programs on other nodes, for which they would need Slurm or a login there."""

TORCH = re.compile(r"(torchrun|accelerate|deepspeed)$|python[0-9.]*$")
"""Programs that take their rank from arguments, or from the variables that torchrun reads."""

MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")

SHELLS = ("bash", "sh", "zsh", "dash", "ksh")


def base(word: str) -> str:
    """The command of a path."""
    return word.rpartition("/")[2]


def launches(words: tuple[str, ...]) -> bool:
    """Whether a command is a launcher that needs none of Slurm's variables."""
    name = base(words[0]) if words else ""
    if TORCH.match(name) and not name.startswith("python"):
        return True
    modules = words[words.index("-m") + 1 :][:1] if "-m" in words[:4] else ()
    return name.startswith("python") and any(each in MODULES for each in modules)


def script(words: tuple[str, ...]) -> int | None:
    """Where in a command a text stands that a shell is to run: `bash -lc TEXT`."""
    if not words or base(words[0]) not in SHELLS:
        return None
    for number, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            return number + 1 if number + 1 < len(words) else None
        if not word.startswith(("-", "+")):
            return None
    return None
