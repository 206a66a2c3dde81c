"""How many public sbatch scripts bayplan imports: `python -m tools.sbatch_corpus FOLDER_OR_GIT_DIRECTORY...`.

It prints a row for each repository: its scripts that launch work on GPUs, and how bayplan imports them. That is
untouched, with an image, with more values of `--set`, or not at all. `--list` prints the result of each script.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bayplan import formats
from bayplan.core.diagnostics import AT, Diagnostic, has_errors
from bayplan.model.formats import Context, Source

DIRECTIVE = re.compile(r"^#SBATCH ", re.MULTILINE)
GPUS = re.compile(r"gpu|torchrun|accelerate|deepspeed|nccl|cuda|nproc|nvidia|megatron|train|pytorch", re.IGNORECASE)
STARTS = re.compile(r"^[^#\n]*\b(srun|torchrun|mpirun|mpiexec|python3?|accelerate|deepspeed)\b", re.MULTILINE)
NEEDED = re.compile(r"--set ([A-Za-z_]\w*|[1-9])=")
IMAGE = "registry.example.com/train:1"
RESULTS = ("untouched", "with an image", "with --set", "refused")


class Script(NamedTuple):
    """One script, and what became of it."""

    path: str
    result: str
    values: tuple[str, ...] = ()  # the names of --set
    errors: tuple[Diagnostic, ...] = ()


def texts(source: Path) -> Iterator[tuple[str, str]]:
    """The path and text of each sbatch script in a folder, or in the newest commit of a git directory."""
    if (source / "HEAD").is_file():
        command = ["git", f"--git-dir={source}"]
        found = subprocess.run(
            [*command, "grep", "-lI", "^#SBATCH ", "HEAD"], capture_output=True, text=True, check=False
        )
        for name in found.stdout.splitlines():
            shown = subprocess.run([*command, "show", name], capture_output=True, check=True)
            yield name.removeprefix("HEAD:"), shown.stdout.decode(errors="replace")
        return
    for path in sorted(each for each in source.rglob("*") if each.is_file()):
        yield str(path.relative_to(source)), path.read_bytes().decode(errors="replace")


def launches(text: str) -> bool:
    """Whether a file is a batch script that starts a program on GPUs."""
    return text.startswith("#!") and bool(DIRECTIVE.search(text) and GPUS.search(text) and STARTS.search(text))


def judge(path: str, text: str) -> Script:
    """Import a script; give it what the hints name until it has all of it."""
    errors = _errors(path, text, {})
    if not errors:
        return Script(path, RESULTS[0])
    values = {"image": IMAGE}
    while errors := _errors(path, text, values):
        asked = {name for each in errors for name in NEEDED.findall(each.hint or "")} - values.keys()
        if not asked:
            return Script(path, RESULTS[3], tuple(values), errors)
        values |= {name: value_of(name, text) for name in asked}
    return Script(path, RESULTS[1] if len(values) == 1 else RESULTS[2], tuple(values))


def value_of(name: str, text: str = "") -> str:
    """The value that a judge gives a variable of --set."""
    assigned = re.findall(
        rf"^\s*(?:export )?{name}=(\"[^\"$`\\]*\"|'[^'\\]*'|[\w./:-]*)\s*(?:#.*)?$", text, re.MULTILINE
    )
    if assigned:
        return assigned[0].strip("\"'")
    if compared := re.search(rf"\$\{{?{name}\b\}}?\"?\s*==?\s*['\"]?(\w+)", text):
        return compared[1]
    number = re.search(r"NUM|COUNT|SIZE|WORLD|NODES|PORT|RANK|_ID$|NPROC|GPUS|STEPS", name)
    return "4" if number else f"/fsx/{name.lower()}"


def _errors(path: str, text: str, values: dict[str, str]) -> tuple[Diagnostic, ...]:
    found = formats.documents(path, text.encode(), "workflow", Source("sbatch", values))
    diagnostics = found.diagnostics
    if found.value is not None:
        diagnostics += formats.workflow(found.value[0], "sbatch", Context(None)).diagnostics
    return tuple(each for each in diagnostics if has_errors((each,)))


def rows(sources: list[Path]) -> Iterator[tuple[str, list[Script]]]:
    """The name of each repository and its scripts that launch work on GPUs."""
    for source in sources:
        whole = source.resolve()
        name = (whole.parent if (whole / "HEAD").is_file() else whole).name.replace("+", "/")
        yield name, [judge(path, text) for path, text in texts(source) if launches(text)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="print the result and the errors of each script")
    given = parser.parse_args()
    print(f"| repository | scripts | {' | '.join(RESULTS)} | imported | reasons |\n|---|{'---|' * (len(RESULTS) + 3)}")
    every: list[Script] = []
    for name, scripts in [*rows(given.sources), ("all", every)]:
        counted = Counter(each.result for each in scripts)
        codes = Counter(code for each in scripts for code in {error.code for error in each.errors})
        share = 100 * (len(scripts) - counted["refused"]) // max(1, len(scripts))
        reasons = ", ".join(f"{code} {number}" for code, number in codes.most_common())
        print(
            f"| {name} | {len(scripts)} | {' | '.join(str(counted[each]) for each in RESULTS)} | {share} % |",
            reasons,
            "|",
        )
        if scripts is not every:
            every += scripts
            for each in scripts if given.list else ():
                print(each.result, each.path, *each.values)
                for error in each.errors:
                    places = ":".join(map(str, error.route[error.route.index(AT) + 1 :])) if AT in error.route else ""
                    print("   ", error.code, places, error.message)


if __name__ == "__main__":
    main()
