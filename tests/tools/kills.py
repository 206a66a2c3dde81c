"""A run of bayplan that ends at each of its steps: `python -m tools.kills FOLDER SIGNAL MOST ARGUMENT...`.

FOLDER has `old`, a folder in its state before the run. This process counts the steps of the run in a copy of it. Then,
for MOST of the steps, it repeats the run in a new copy and sends itself the signal at that step. It prints a line of
JSON for the state before, for a whole run, and for each step: how the process ended, and the files after it. After the
line of a step is one for the next run. `check` is the exit code of the run with --check between the two, if it has that
option.

SIGKILL: a step is the time before or after a system call that changes files or signals. Other signals: a step is an
instruction of Python in the modules that write.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from bayplan.cli import output_folder, run

CALLS = ("open", "mkdir", "write", "flock", "close", "chmod", "replace", "unlink", "rmdir", "pthread_sigmask")
"""Functions of os, io, fcntl and signal. `fsync` is counted where it is replaced."""
STDIN = b"kind: Job\n"
WRITERS = ("write_single", "write_new", "write_folder", "apply", "replace", "remove_leftovers")
"""The functions of `output_folder` that change files."""
CHECKED = ("render", "generate")
"""Commands with the option --check."""
MODULES = (output_folder.__file__, run.__file__.replace("run.py", "output.py"))


class Stopper:
    """Sends the signal to this process at one step. Step 0: at none; it counts them."""

    def __init__(self, number: int, step: int) -> None:
        self.number, self.step, self.count = number, step, 0

    def watched(self, writer: Callable[..., Any]) -> Callable[..., Any]:
        """The function that writes, with its steps and those of everything after it."""

        def watch(*arguments: Any) -> Any:
            if self.number == signal.SIGKILL:
                sys.setprofile(self.call)
            else:
                sys.settrace(self.instruction)
            return writer(*arguments)

        return watch

    def tick(self) -> None:
        """One step."""
        self.count += 1
        if self.count == self.step:
            os.kill(os.getpid(), self.number)

    def call(self, frame: FrameType, event: str, argument: Any) -> None:
        """A call into C from anywhere below the modules that write."""
        if event in ("c_call", "c_return") and argument.__name__ in CALLS and below(frame):
            self.tick()

    def instruction(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """An instruction of the modules that write."""
        if event == "opcode":
            self.tick()
        elif event == "call":
            if not below(frame):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.instruction


def below(frame: FrameType | None) -> bool:
    """Whether a frame or its callers belong to a module that writes."""
    while frame is not None:
        if frame.f_code.co_filename in MODULES:
            return True
        frame = frame.f_back
    return False


def attempt(folder: Path, argv: Sequence[str], number: int, step: int) -> tuple[int, int]:
    """Runs bayplan in a child. Returns its exit code, or the negative signal, and the number of its steps."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin = io.TextIOWrapper(io.BytesIO(STDIN))
        sys.stdout = sys.stderr = io.TextIOWrapper(io.BytesIO(), write_through=True)
        stopper = Stopper(number, step)
        os.fsync = lambda number: stopper.tick()  # the disk is slow, and this harness does not switch off the power
        for name in WRITERS:
            setattr(output_folder, name, stopper.watched(getattr(output_folder, name)))
        code = run.run(argv)
        sys.setprofile(None)
        sys.settrace(None)
        os.write(writer, str(stopper.count).encode())
        os._exit(code)
    os.close(writer)
    counted = os.read(reader, 100)
    os.close(reader)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(counted or 0)


def state(folder: Path) -> dict[str, str]:
    """The files below a folder with their texts, and the folders of `staging`."""
    found = {str(each.relative_to(folder)): each for each in folder.rglob("*") if ".git" not in each.parts}
    return {
        name: each.read_text("utf-8") if each.is_file() else ""
        for name, each in sorted(found.items())
        if each.is_file() or each.name.startswith(output_folder.STAGING)
    }


def seen_by_git(folder: Path) -> list[str]:
    """The files that `git add` would take."""
    command = ["git", "status", "--porcelain", "-uall", "--no-renames"]
    lines = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line[3:] for line in lines]


def main(root: Path, name: str, most: int, argv: Sequence[str]) -> None:
    """Prints the results."""
    number = signal.Signals[name].value
    folder = root / "copy"

    def fresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(root / "old", folder, symlinks=True)

    def report(step: int, code: int) -> None:
        files, git = state(folder), seen_by_git(folder)
        check = attempt(folder, [*argv, "--check"], number, 0)[0] if argv[0] in CHECKED and step > 0 else 2
        print(json.dumps({"step": step, "code": code, "files": files, "git": git, "check": check}))

    fresh()
    report(-1, 0)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        run.run(argv)  # loads all modules
    fresh()
    code, count = attempt(folder, argv, number, 0)
    report(0, code)
    for step in range(1, count + 1, -(-count // most)):
        fresh()
        report(step, attempt(folder, argv, number, step)[0])
        report(0, attempt(folder, argv, number, 0)[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
