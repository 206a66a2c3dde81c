"""The full command line by click, built from the same table: help, usage errors, completion and unusual spellings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from bayplan import __version__
from bayplan.cli.commands import COMMANDS
from bayplan.cli.options import MANY, Argument, Command, Given, Option
from bayplan.words import did_you_mean

Run = Callable[[Given], int]
PROGRAM = "bayplan"
COMPLETE = "_BAYPLAN_COMPLETE"
"""The variable by which a shell asks for completions (click, `shell_completion.py`)."""

ABOUT = "Proves that a GPU job's gangs fit a cluster, and writes every manifest that places them there."
EXITS = "Exit codes: 0 no error, 1 errors or a difference, 2 wrong usage, 3 a bug of bayplan."
GROUPS = {"topology": "Check cluster topology files and write them in other formats."}


def main(argv: Sequence[str], run: Run) -> int:
    """Parses the command line and runs what it names; the exit code."""
    try:
        code = program(run).main(list(argv), PROGRAM, complete_var=COMPLETE, standalone_mode=False)
    except click.UsageError as wrong:
        wrong.show()
        return 2
    except click.Abort:
        return 130
    return code if isinstance(code, int) else 0


def program(run: Run) -> click.Group:
    """The whole tree of commands."""
    top = Words(PROGRAM, help=ABOUT, epilog=EXITS)
    click.version_option(__version__, message="%(prog)s %(version)s")(top)
    for name, summary in GROUPS.items():
        top.add_command(Words(name, help=summary))
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        parent = top.commands[group] if group else top
        if not isinstance(parent, click.Group):
            raise AssertionError(f"{group!r} is not a group")
        parent.add_command(_command(command, name, run))
    return top


class Words(click.Group):
    """A group that lists its commands in the table's order and guesses at misspelled ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As the table has them."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command by its name."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            guess = did_you_mean(args[0], self.commands)
            ctx.fail(f'No such command "{args[0]}"{f": {guess}" if guess else "."}')
        return super().resolve_command(ctx, args)


def _command(command: Command, name: str, run: Run) -> click.Command:
    def call(**values: Any) -> int:
        return run(given(command, values))

    params: list[click.Parameter] = [_argument(each) for each in command.arguments]
    params += [_option(each) for each in command.options]
    text = f"{command.summary}\n\n{command.description}" if command.description else command.summary
    return click.Command(name, params=params, callback=call, help=text, short_help=command.summary)


def _argument(argument: Argument) -> click.Argument:
    kind = _type(argument.choices, argument.file)
    many = argument.most == MANY
    optional = not argument.least
    shown = f"[{argument.metavar}]" if optional else f"{argument.metavar}{'...' if many else ''}"
    return click.Argument(["words"], type=kind, nargs=-1 if many else 1, required=not optional, metavar=shown)


def _option(option: Option) -> click.Option:
    names = [*option.names, option.key.replace("-", "_")]
    if not option.metavar:
        return click.Option(names, is_flag=True, help=option.help)
    kind = (
        click.Choice(option.choices) if option.choices else click.Path() if "FILE" in option.metavar else click.STRING
    )
    shown = None if option.choices else option.metavar
    return click.Option(names, type=kind, multiple=option.many, metavar=shown, help=option.help)


def _type(choices: tuple[str, ...], file: bool) -> click.ParamType[Any]:
    """What a shell completes a value by."""
    return click.Choice(choices) if choices else click.Path() if file else click.STRING


def given(command: Command, values: dict[str, Any]) -> Given:
    """click's values as the command's functions want them."""
    words = values["words"] if command.arguments else ()
    found = {option.key: _values(values[option.key.replace("-", "_")]) for option in command.options}
    return Given(command, _values(words), {key: value for key, value in found.items() if value})


def _values(value: Any) -> tuple[str, ...]:
    """None and False: not there; True: a switch."""
    if value is None or value is False:
        return ()
    if value is True:
        return ("",)
    return tuple(value) if isinstance(value, tuple) else (value,)
