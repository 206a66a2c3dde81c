"""argv -> exit code: finds the command, parses, runs it, and answers for everything that goes wrong on the way."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bayplan.cli import fast
from bayplan.cli.commands import COMMANDS, LATER
from bayplan.cli.failures import unwritable
from bayplan.cli.finish import complain, finish
from bayplan.cli.options import Command, Given
from bayplan.cli.stdout import silence
from bayplan.diagnostics import error
from bayplan.report.batch import Batch

DEBUG = "BAYPLAN_DEBUG"
"""Set to 1, this variable lets a bug of ours end in its traceback."""

INTERRUPTED, READER_GONE, BUG = 130, 141, 3
"""Exit codes; the first two are 128 and the signal's number, as shells have it."""


NOTHING = Given(Command("", "", ""), (), {})
"""What was given where no command runs."""


def run(argv: Sequence[str]) -> int:
    """Runs a command line. Nothing that it is given makes it raise."""
    try:
        return _dispatch(argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return READER_GONE
    except Exception as problem:
        complain(_traceback() if os.environ.get(DEBUG) == "1" else _bug(problem))
        return BUG


def _dispatch(argv: Sequence[str]) -> int:
    """The fast parser where it understands, click where not."""
    found = fast.find(argv, COMMANDS)
    plain = fast.parse(*found) if found else None
    if plain is not None:
        return execute(plain)
    later = next((name for name in LATER if list(argv[: len(name.split())]) == name.split()), None)
    if later:
        return not_yet(later)
    from bayplan.cli import human

    try:
        return human.main(argv, execute)
    except BrokenPipeError:
        raise
    except OSError as problem:  # the help itself cannot be written
        silence()
        return finish(NOTHING, [Batch((unwritable("<stdout>", problem),))])


def execute(given: Given) -> int:
    """Runs the command's own module."""
    module = __import__(f"bayplan.cli.{given.command.module}", fromlist=["run"])
    code: int = module.run(given)
    return code


def not_yet(name: str) -> int:
    """Answers a command that is planned."""
    message = f"`bayplan {name}` is not there yet"
    found = error("A926", ("argument", name), message, hint="`bayplan --help` lists what is")
    return finish(NOTHING, [Batch((found,))])


def _traceback() -> str:
    from traceback import format_exc

    return format_exc()


def _bug(problem: Exception) -> str:
    """What to say of an exception that nobody expected."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return (
        f"bayplan: this is a bug of bayplan, not of your files: {type(problem).__name__}: {problem}{where}\n"
        "  note: nothing that was written can be relied on\n"
        f"  hint: please report it with the command line, the files if you may share them, the output of"
        f" `bayplan --version` and that of a run with {DEBUG}=1\n"
    )
