"""Failing cases: `tests/cases/<CODE>-<slug>/` holds a command line, its input files, what it reads as `stdin`, and the
programs that it finds in `bin`."""

from __future__ import annotations

import os
import shlex
import tempfile
from typing import NamedTuple

from tools.run import ROOT, bayplan

CASES = ROOT / "tests" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/command"))


class Answer(NamedTuple):
    """What a command line came to."""

    code: int
    out: str
    err: str


def command(case: str) -> str:
    """The command line of a case, without the program's name."""
    return (CASES / case / "command").read_text(encoding="utf-8").strip()


def words(case: str) -> list[str]:
    """The same as words, with -v where the command has it: a case holds the infos too."""
    from bayplan.cli.commands import COMMANDS  # not before `tools.messages` has replaced the product's codes
    from bayplan.cli.run import find

    asked = shlex.split(command(case))
    found = find(asked, COMMANDS)
    verbose = found and any(option.key == "verbose" for option in found[0].options)
    return [*asked, "-v"] if verbose else asked


def run(case: str) -> Answer:
    """Runs a case in this process, in its folder. What post-render keeps goes into a folder that is removed. Of
    programs those of the system are found, and before them those in the case's own `bin`."""
    given = CASES / case / "stdin"
    stdin = given.read_bytes().decode("utf-8", "surrogateescape") if given.exists() else ""
    with tempfile.TemporaryDirectory() as state:
        env = {
            "XDG_STATE_HOME": state,
            "KUSTOMIZE_PLUGIN_HOME": "plugins",
            "PATH": os.pathsep.join(("bin", os.defpath)),
        }
        result = bayplan(*words(case), cwd=CASES / case, env=env, stdin=stdin)
    return Answer(result.returncode, result.stdout, result.stderr)


def report(case: str, answer: Answer) -> str:
    """What the golden file holds. Manifests have golden files of their own."""
    asked = command(case) + (" < stdin" if (CASES / case / "stdin").exists() else "")
    written = asked.startswith(("render", "post-render")) and answer.code == 0
    shown = "(manifests)\n" if written else answer.out
    return f"$ bayplan {asked}\n{shown}{answer.err}exit {answer.code}\n"
