"""`bayplan completion`: the script that a shell sources to complete bayplan's words."""

from __future__ import annotations

from click.shell_completion import ShellComplete, get_completion_class

from bayplan.cli import human, output
from bayplan.cli.finish import finish
from bayplan.cli.options import Given


def run(given: Given) -> int:
    """Prints click's script for the shell, without asking the shell for its version as click would."""
    kind = get_completion_class(given.words[0])
    if kind is None:
        raise AssertionError(f"click does not know {given.words[0]}")
    made = kind(human.program(lambda _: 0), {}, human.PROGRAM, human.COMPLETE)
    return finish(given, (), lambda: output.write([f"{ShellComplete.source(made)}\n"]))
