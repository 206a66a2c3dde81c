"""argv -> exit code: finds the command, parses, runs it, and answers for everything that goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bayplan.cli.options import Command, Given

INTERRUPTED = 130
"""Exit code: 128 and the signal's number, as shells have it."""


def run(argv: Sequence[str]) -> int:
    """Runs a command line. Nothing that it is given makes it raise, but for click's completions, which exit."""
    if argv[:1] == ["post-render"]:
        from bayplan.cli import keeping

        return keeping.keep(argv, _guarded)
    return _guarded(argv)


def krm(argv: Sequence[str]) -> int:
    """Runs `bayplan krm`. kustomize gives it no arguments, and then no table of commands is loaded."""
    if argv:
        return run(["krm", *argv])
    return _answered(lambda: execute(Given(Command("krm", "krm", ""), (), {})))


def _guarded(argv: Sequence[str]) -> int:
    return _answered(lambda: _dispatch(argv))


def _answered(work: Callable[[], int]) -> int:
    """The exit code of the work, or of what is said about its failure."""
    try:
        return work()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as problem:
        from bayplan.cli import mishaps

        return mishaps.answer(problem)


def _dispatch(argv: Sequence[str]) -> int:
    """The fast parser where it understands, click where not."""
    from bayplan.cli import fast
    from bayplan.cli.commands import COMMANDS

    found = fast.find(argv, COMMANDS)
    plain = fast.parse(*found) if found else None
    if plain is not None:
        return execute(plain)
    from bayplan.cli import human

    return human.main(argv, execute)


def execute(given: Given) -> int:
    """Runs the command's own module; no other is loaded."""
    module = __import__(f"bayplan.cli.{given.command.module}", fromlist=["run"])
    code: int = module.run(given)
    return code
