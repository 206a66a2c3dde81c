"""Hostile strings, the documents that have them, and what may be printed of them."""

from __future__ import annotations

import copy
import io
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML

from tools import slurm_job

LINE = "a$(>PWNED)`>PWNED`';>PWNED;'\";>PWNED;\"|>PWNED #"
LINES = "a\n>PWNED\nTASK\n>PWNED\nFILE\n>PWNED\nBASE64\n>PWNED\nSBATCH\n>PWNED\nEOF\n>PWNED\n#"
HIDDEN = LINES.replace("\nTA", "\nT\0A").replace("\nFI", "\nF\0I").replace("\nBA", "\nB\0A").replace("\nSB", "\nS\0B")
VALUES = (LINE, f"/{LINE}", LINES, f"/{LINES}", HIDDEN, f"/{HIDDEN}", "a\r>PWNED\r#", "a\x85>PWNED", "a\u2028>PWNED")
"""bash drops NUL characters, so that a hidden end of a here document is one."""

MORE = (
    "a\x1b]0;>PWNED\x07",
    "a\x1b[31m>PWNED",
    "a\x7f>PWNED",
    "a\u202e>PWNED",
    "\ufeff>PWNED",
    "a\t>PWNED",
    "{{ >PWNED }}",
    "%s>PWNED%n",
    "%(>PWNED)d",
    "*>PWNED",
    "-x>PWNED",
    "--help>PWNED",
    "=1+1>PWNED",
    "@x>PWNED",
    "&a >PWNED",
    "!!a >PWNED",
    "- >PWNED",
    "a: >PWNED",
    "a #>PWNED",
    "a\n---\n>PWNED: x",
    "<script>PWNED</script>",
    "]]><script>PWNED</script>",
    "'\"/><script>PWNED</script>",
    "::error::>PWNED%0A::warning::b",
    "a\n::error::>PWNED",
    "\\\n>PWNED",
    "a\\>PWNED",
    ">PWNED" * 9000,
)
"""Control characters, what begins a template, an option, a formula or a YAML value, markup, annotations, and length."""

EVERY = (*VALUES, *MORE)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all strings. A path of a key ends in None."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key, None)
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from places(value, (*path, number))
    elif isinstance(data, str):
        yield path


def changed(data: Any, path: Sequence[Any], value: str) -> Any:
    """A copy with another string."""
    data = copy.deepcopy(data)
    *above, last = path[:-1] if path[-1] is None else path
    holder = data
    for step in above:
        holder = holder[step]
    if path[-1] is None:
        holder[value] = holder.pop(last)
    else:
        holder[last] = value
    return data


def ran(text: str, folder: Path) -> int:
    """Runs a script, and those that it submits, with stubs of Slurm and of the user's command. Returns its tasks."""
    stubs = {"srun": slurm_job.SRUN, "scontrol": slurm_job.SCONTROL, "sbcast": slurm_job.SBCAST}
    stubs |= {"sbatch": slurm_job.SBATCH, "work": slurm_job.COMMAND}
    for path in ("bin", "stub/jobs", "here"):
        (folder / path).mkdir(parents=True)
    for name, stub in stubs.items():
        (folder / "bin" / name).write_text(stub)
        (folder / "bin" / name).chmod(stat.S_IRWXU)
    number_of_job = f"hostile-{os.getpid()}-{folder.name}"
    ends = ("", "_HET_GROUP_0", "_HET_GROUP_1")
    variables = {f"{name}{end}": value for name, value in SLURM.items() for end in ends}
    job = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "STUB": f"{folder}/stub", "SLURM_JOB_ID": number_of_job}
    scripts = [text]
    for number, script in enumerate(scripts):
        (folder / f"script{number}").write_bytes(script.encode())
        command = ["bash", str(folder / f"script{number}")]
        subprocess.run(
            command, cwd=folder / "here", env={**job, **variables}, capture_output=True, timeout=60, check=False
        )
        if not number:
            scripts += [each.read_bytes().decode() for each in sorted((folder / "stub" / "jobs").iterdir())]
    for path in Path("/tmp").glob(f"{number_of_job}.*"):  # where scripts put files of podSets
        path.unlink()
    assert list((folder / "here").iterdir()) == [], text
    return len(list((folder / "stub").glob("task.*")))


SLURM = {"SLURM_JOB_NODELIST": "n[0-1]", "TASKS_PER_NODE": "1"}


GAPS = (602, 604, 608, 609, 614, 616, 625, 626, 631, 638, 642, 665, 667, 680, 681, 683, 704, 712, 713, 715, 750, 754)
ACCEPTED = [word for number in GAPS for word in ("--accept", f"F{number}")]


def judged(done: subprocess.CompletedProcess[str], folder: Path) -> bool:
    """Whether a run accepted a hostile string. Its report has one line per line, and its commands run nothing else."""
    assert done.returncode in (0, 1, 2), done.stderr
    assert readable(done.stderr), done.stderr
    assert not re.search("^ *::", done.stderr, re.MULTILINE), done.stderr
    for hint in re.findall("^  hint: (.*)", done.stderr + done.stdout, re.MULTILINE):
        for command in COMMAND.findall(hint):
            pasted(command, folder)
    return done.returncode == 0


COMMAND = re.compile(r"(?<![-/\w])((?:bayplan|kubectl|kustomize|helm|git|ssh-keygen) (?:'[^']*'|\\.|[^`'])*)")
"""A command in a hint, up to a backquote that is outside of quotes."""


def readable(text: str) -> bool:
    """Whether a text for people has no control characters."""
    return all(line.isprintable() for line in text.split("\n"))


def pasted(command: str, folder: Path) -> None:
    """Runs a command that bayplan prints, up to the end of the sentence. Its programs are not there."""
    here = folder / "pasted"
    here.mkdir(exist_ok=True)
    shell = ["/bin/bash", "-c", command.replace(" > nodes.json", "")]
    subprocess.run(shell, cwd=here, env={"PATH": ""}, capture_output=True, timeout=60, check=False)
    assert list(here.iterdir()) == [], command


def same_for_all(text: str, value: str = "") -> list[Any]:
    """The documents, which PyYAML and ruamel.yaml read alike. Their strings with PWNED have the whole value."""
    assert not re.search("[^\n\t -~\xa0-\u2027\u202a-\ufffe\U00010000-\U0010ffff]", text), text
    documents = list(yaml.load_all(text, yaml.CSafeLoader))
    if len(text) < 20_000:  # ruamel.yaml is slow
        assert list(YAML(typ="safe", pure=True).load_all(io.StringIO(text))) == documents
    odd = [each for each in leaves(documents) if "PWNED" in each and value not in each]
    assert not odd, odd
    return documents


def leaves(data: Any) -> Iterator[str]:
    """All strings, with those of keys."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(key)
            yield from leaves(value)
    elif isinstance(data, list):
        for value in data:
            yield from leaves(value)
    elif isinstance(data, str):
        yield data
