"""argv -> exit code: finds, parses and runs the command, and handles all failures."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from bayplan.cli.options import Arguments, Command
from bayplan.core.signals import SIGNALED, leave

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNHANDLED = (signal.SIG_DFL, signal.default_int_handler, leave)


class Terminated(KeyboardInterrupt):
    """A signal that ends the command, with its number. It is an exception, so that nothing is left over."""


def _terminate(number: int, frame: object) -> None:
    raise Terminated(number)


def run(argv: Sequence[str]) -> int:
    """Runs a command line. It does not raise."""
    if argv[:1] == ["post-render"]:
        from bayplan.cli import post_render

        return _guarded_call(lambda: post_render.keep_stderr(argv, lambda: _guarded_call(lambda: _dispatch(argv))))
    return _guarded_call(lambda: _dispatch(argv))


def krm(argv: Sequence[str]) -> int:
    """Runs `bayplan krm`. kustomize passes no arguments, and then bayplan does not load the table of commands."""
    if argv:
        return run(["krm", *argv])
    return _guarded_call(lambda: execute(Arguments(Command("krm", "krm", ""), (), {})))


@contextmanager
def _raising_signals() -> Iterator[None]:
    """ENDS raise `Terminated`, unless the process handles or ignores them already, or this is not the main thread."""
    before = [(number, signal.getsignal(number)) for number in ENDS]
    with suppress(ValueError):
        for number, handler in before:
            signal.signal(number, _terminate if handler in UNHANDLED else handler)
    try:
        yield
    finally:
        with suppress(ValueError):
            for number, handler in before:
                signal.signal(number, handler)


def _guarded_call(work: Callable[[], int]) -> int:
    """The exit code of the work, or of its failure."""
    try:
        with _raising_signals():
            return work()
    except Terminated as end:
        return SIGNALED + int(end.args[0])
    except KeyboardInterrupt:
        return SIGNALED + int(signal.SIGINT)
    except Exception as problem:
        from bayplan.cli import unhandled

        return unhandled.exit_code_of(problem)


def _dispatch(argv: Sequence[str]) -> int:
    """Answers --help at once. Otherwise it uses the fast parser, or click if the fast parser does not understand."""
    if list(argv) == ["--help"]:
        from bayplan.cli.commands import COMPLETE

        if COMPLETE not in os.environ:
            return _help()
    from bayplan.cli.commands import COMMANDS

    argv, job = split_command(argv)
    command = find(argv, COMMANDS)
    parsed = parse(*command) if command else None
    if parsed is None:
        from bayplan.cli import human

        by_click = human.parse(argv)
        if isinstance(by_click, int):
            return by_click
        parsed = by_click
    return execute(parsed._replace(options={**parsed.options, "--": job}) if job else parsed)


def split_command(argv: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """The words of `init`, and those after --: the command of the job."""
    if "--" not in argv or argv[0] != "init":
        return argv, ()
    place = argv.index("--")
    return argv[:place], tuple(argv[place + 1 :])


def _help() -> int:
    """Prints the overview of all commands."""
    from bayplan.cli import output
    from bayplan.cli.commands import overview

    failed = output.write([overview()])
    if not failed:
        return 0
    from bayplan.cli.finish import finish
    from bayplan.report import Batch

    return finish(Arguments(Command("", "", ""), (), {}), [Batch(failed)])


LIMIT = "BAYPLAN_LIMIT"
"""The variable with limits for all commands. Its syntax is that of --limit, which wins."""


def execute(args: Arguments) -> int:
    """Runs the command with its limits."""
    variable = os.environ.get(LIMIT, "")
    if not variable and not args.has("limit"):
        return _execute(args)
    from bayplan.cli import options
    from bayplan.text.source import limited

    limits = options.limits(args, variable)
    if limits.value is None:
        from bayplan.cli.finish import finish
        from bayplan.report import Batch

        return finish(args, [Batch(limits.diagnostics)])
    with limited(limits.value):
        return _execute(args)


def _execute(args: Arguments) -> int:
    """Runs the module of the command, and loads no other command."""
    module, _, function = args.command.module.partition(".")
    loaded = __import__(f"bayplan.cli.{module}", fromlist=["run"])
    command: Callable[[Arguments], int] = getattr(loaded, function or "run")
    if args.command.name != "krm" and not _asks_for_sandbox(args):
        return command(args)
    from bayplan.cli import project

    return project.confined(args, lambda: command(args))


def _asks_for_sandbox(args: Arguments) -> bool:
    from bayplan.cli.commands import SANDBOX

    return any(args.has(each.key) for each in SANDBOX)


# The parser for well-formed command lines. click handles all others, and reports their errors.


def find(argv: Sequence[str], commands: Iterable[Command]) -> tuple[Command, Sequence[str]] | None:
    """The command of the first one or two words, and the rest."""
    for length in (2, 1):
        name = " ".join(argv[:length])
        for command in commands:
            if command.name == name and len(argv) >= length == len(name.split(" ")):
                return command, argv[length:]
    return None


def parse(command: Command, argv: Sequence[str]) -> Arguments | None:
    """The parsed command line. None if it has anything but known options in full with their values."""
    spelled = {name: option for option in command.options for name in option.names}
    words: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    rest = iter(argv)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        option = spelled.get(name)
        if option is None or (equals and not (option.metavar and name.startswith("--"))):
            return None
        if option.metavar and not equals:
            value = next(rest, "--")
        if (value.startswith("-") and value != "-") or (option.choices and value not in option.choices):
            return None
        options[option.key] = (*options.get(option.key, ()), value)
    return Arguments(command, tuple(words), options) if command.takes(tuple(words)) else None
