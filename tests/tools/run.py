"""Run bayplan as its users do: with arguments, in some folder, under some environment, on some standard input.

`bayplan` calls the command line in this process, which takes a tenth of the time of a new one. `process` starts a new
interpreter: for exit codes, streams, signals, and what depends on how the interpreter starts.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

import bayplan.__main__ as program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PRETRAIN = EXAMPLES / "pretrain"
RENDER_64 = ["render", f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml", "--cluster-objects"]
"""The 64-pod example."""

DROPPED = {
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE",
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
}
"""Variables that change the output, or that make every process compile bayplan again."""


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The caller's environment with the checkout importable, less what changes output."""
    kept = {key: value for key, value in os.environ.items() if key not in DROPPED}
    return {**kept, "PYTHONPATH": str(ROOT / "generator"), "PYTHONIOENCODING": "utf-8", **extra}


def bayplan(
    *arguments: str,
    cwd: Path = ROOT,
    env: Mapping[str, str] = {},
    stdin: str = "",
    merged: bool = False,
    terminal: bool = False,
) -> subprocess.CompletedProcess[str]:
    """`bayplan ARGUMENTS` in this process. `merged` sends standard error to standard output.

    `terminal`: standard error is a terminal without colours.
    """
    assert not [name for name in env if name.startswith(("PYTHON", "LC_"))], "only a new interpreter reads these"
    read, err = _stream(stdin), _stream(kind=Terminal if terminal else io.TextIOWrapper)
    out = err if merged else _stream()
    plain = {"NO_COLOR": "1"} if terminal else {}
    with _inside(cwd, environment({**env, **plain})), mock.patch.multiple(sys, stdin=read, stdout=out, stderr=err):
        code = _exit_code([program.__file__, *arguments])
    return subprocess.CompletedProcess(arguments, code, _text(out), "" if merged else _text(err))


class Terminal(io.TextIOWrapper):
    """A standard stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def _stream(text: str = "", kind: type[io.TextIOWrapper] = io.TextIOWrapper) -> io.TextIOWrapper:
    """A standard stream."""
    return kind(io.BytesIO(text.encode("utf-8", "surrogateescape")), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    """What was written to a stream."""
    written: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return written.decode()


@contextlib.contextmanager
def _inside(cwd: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Another working folder and environment. The garbage collector is as it was afterwards: bayplan turns it off."""
    collects = gc.isenabled()
    before = dict(os.environ)
    try:
        _change(env)
        with contextlib.chdir(cwd):
            yield
    finally:
        _change(before)
        if collects:
            gc.enable()


def _change(env: Mapping[str, str]) -> None:
    """Sets the variables that differ, which takes less time than setting all."""
    for name in os.environ.keys() - env.keys():
        del os.environ[name]
    for name, value in env.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _exit_code(argv: list[str]) -> int:
    """What `bayplan` exits with under a command line. click leaves by SystemExit after a completion."""
    with mock.patch.object(sys, "argv", argv):
        try:
            return program.main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)


def python(
    *arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """A new interpreter with those arguments."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(env),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def process(
    *arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """`bayplan ARGUMENTS` in a process of its own."""
    return python("-m", "bayplan", *arguments, cwd=cwd, env=env, stdin=stdin)


def rendered(*arguments: str, cwd: Path = ROOT, env: Mapping[str, str] = {}) -> str:
    """The standard output of a run that must succeed."""
    result = bayplan(*arguments, cwd=cwd, env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout


def hooked(
    code: str, arguments: Sequence[str], env: Mapping[str, str] = {}, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """`bayplan ARGUMENTS` in a process that runs `code` first."""
    start = f"{code}\nimport runpy, sys\nsys.argv = ['bayplan', *{list(arguments)!r}]\n"
    return python(
        "-c", start + "runpy.run_module('bayplan', run_name='__main__', alter_sys=True)", env=env, stdin=stdin
    )
