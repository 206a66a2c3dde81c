"""Failing cases: `tests/cases/<CODE>-<slug>/` holds a command line, its input files, what it reads as `stdin`, and the
programs that it finds in `bin`."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
from typing import NamedTuple
from unittest import mock

from tools.run import ROOT

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


def run(case: str) -> Answer:
    """Runs a case in this process, in its folder. What post-render keeps goes into a folder that is removed. Of
    programs those of the system are found, and before them those in the case's own `bin`."""
    from bayplan.cli.run import run

    given = CASES / case / "stdin"
    stdin = io.TextIOWrapper(io.BytesIO(given.read_bytes() if given.exists() else b""), encoding="utf-8")
    out, err = (_Stream(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    streams = mock.patch.multiple("sys", stdin=stdin, stdout=out, stderr=err)
    state = tempfile.TemporaryDirectory()
    kept = {
        "XDG_STATE_HOME": state.name,
        "KUSTOMIZE_PLUGIN_HOME": "plugins",
        "PATH": os.pathsep.join(("bin", os.defpath)),
    }
    with state, contextlib.chdir(CASES / case), mock.patch.dict(os.environ, kept), streams:
        code = run(shlex.split(command(case)))
    return Answer(code, out.text(), err.text())


class _Stream(io.TextIOWrapper):
    def text(self) -> str:
        """What was written."""
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]


def report(case: str, answer: Answer) -> str:
    """What the golden file holds. Manifests have golden files of their own."""
    asked = command(case) + (" < stdin" if (CASES / case / "stdin").exists() else "")
    written = asked.startswith(("render", "post-render")) and answer.code == 0
    shown = "(manifests)\n" if written else answer.out
    return f"$ bayplan {asked}\n{shown}{answer.err}exit {answer.code}\n"
