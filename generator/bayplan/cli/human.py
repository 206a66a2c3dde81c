"""The full command line by click, built from the same table: help, usage errors, completion and unusual spellings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from bayplan import __version__
from bayplan.cli import output
from bayplan.cli.commands import COMMANDS
from bayplan.cli.finish import finish
from bayplan.cli.options import MANY, Arguments, Command, Option, Positional

Run = Callable[[Arguments], int]
PROGRAM = "bayplan"
COMPLETE = "_BAYPLAN_COMPLETE"
"""The variable by which a shell asks for completions (click, `shell_completion.py`)."""

ABOUT = "Proves that a GPU job's gangs fit a cluster, and writes every manifest that places them there."
WIDTH = 100
"""Columns of the help, the same everywhere: asking the terminal costs more than all the rest."""

EXITS = "Exit codes: 0 no error, 1 errors or a difference, 2 wrong usage, 3 a bug of bayplan."
GROUPS = {
    "helm": "Set Helm up.",
    "kustomize": "Find out why functions do not run, and install them as plugins.",
    "topology": "Check, show and compare cluster topology files, and write them in other formats.",
}


def main(argv: Sequence[str], run: Run) -> int:
    """Parses the command line and runs what it names; the exit code."""
    try:
        code = program(run).main(list(argv), PROGRAM, complete_var=COMPLETE, standalone_mode=False)
    except click.UsageError as wrong:
        wrong.show()
        return 2
    except click.Abort:
        return 130
    except OSError as problem:  # commands answer for their own
        from bayplan.cli.unhandled import HelpFailedError

        raise HelpFailedError(problem) from problem
    return code if isinstance(code, int) else 0


def completion(args: Arguments) -> int:
    """`bayplan completion`: click's script for the shell, without asking the shell for its version as click would."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(args.words[0])
    if kind is None:
        raise AssertionError(f"click does not know {args.words[0]}")
    script = ShellComplete.source(kind(program(lambda _: 0), {}, PROGRAM, COMPLETE))
    return finish(args, (), lambda: output.write([f"{script}\n"]))


def program(run: Run) -> click.Group:
    """The whole tree of commands."""
    top = CommandGroup("", run, name=PROGRAM, help=ABOUT, epilog=EXITS, context_settings={"terminal_width": WIDTH})
    click.version_option(__version__, message="%(prog)s %(version)s")(top)
    return top


class CommandGroup(click.Group):
    """The commands below some first words, made when they are asked for, listed as the table has them."""

    def __init__(self, prefix: str, run: Run, **settings: Any) -> None:
        super().__init__(**settings)
        self.prefix, self.run = prefix, run

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The next words, each once."""
        names = (command.name for command in COMMANDS if command.name.startswith(self.prefix))
        return list(dict.fromkeys(name.removeprefix(self.prefix).split(" ")[0] for name in names))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command or group of that word."""
        full = self.prefix + name
        if full in GROUPS:
            return CommandGroup(f"{full} ", self.run, name=name, help=GROUPS[full])
        found = next((command for command in COMMANDS if command.name == full), None)
        return _command(found, name, self.run) if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, straight from the table."""
        summaries = {**GROUPS, **{command.name: command.summary for command in COMMANDS}}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summaries[self.prefix + name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command by its name, with a guess at what is none."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            from bayplan.core.phrases import did_you_mean

            guess = did_you_mean(args[0], names)
            ctx.fail(f'No such command "{args[0]}"{f": {guess}" if guess else "."}')
        return super().resolve_command(ctx, args)


def _command(command: Command, name: str, run: Run) -> click.Command:
    def call(**values: Any) -> int:
        words = [word for number in range(len(command.arguments)) for word in _values(values[f"words{number}"])]
        options = {option.key: _values(values[option.key.replace("-", "_")]) for option in command.options}
        return run(Arguments(command, tuple(words), {key: value for key, value in options.items() if value}))

    params: list[click.Parameter] = [_argument(n, each) for n, each in enumerate(command.arguments)]
    params += [_option(each) for each in command.options]
    text = f"{command.summary}\n\n{command.description}" if command.description else command.summary
    return click.Command(name, params=params, callback=call, help=text, short_help=command.summary)


def _argument(number: int, argument: Positional) -> click.Argument:
    kind = click.Choice(argument.choices) if argument.choices else click.Path() if argument.file else click.STRING
    many = argument.most == MANY
    optional = not argument.least
    shown = f"[{argument.metavar}]" if optional else f"{argument.metavar}{'...' if many else ''}"
    return click.Argument([f"words{number}"], type=kind, nargs=-1 if many else 1, required=not optional, metavar=shown)


def _option(option: Option) -> click.Option:
    names = [*option.names, option.key.replace("-", "_")]
    if not option.metavar:
        return click.Option(names, is_flag=True, help=option.help)
    kind = (
        click.Choice(option.choices) if option.choices else click.Path() if "FILE" in option.metavar else click.STRING
    )
    shown = None if option.choices else option.metavar
    return click.Option(names, type=kind, multiple=True, metavar=shown, help=option.help)


def _values(value: Any) -> tuple[str, ...]:
    """None and False: not there; True: a switch."""
    if value is None or value is False:
        return ()
    if value is True:
        return ("",)
    return tuple(value) if isinstance(value, tuple) else (value,)
