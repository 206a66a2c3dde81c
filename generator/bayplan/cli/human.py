"""The full command line by click, from the same table: help, usage errors, completion and unusual spellings."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from bayplan import __version__, plugins
from bayplan.cli import output
from bayplan.cli.commands import ABOUT, COMMANDS, COMPLETE, EXITS, GROUPS, PROGRAM, called
from bayplan.cli.finish import finish, write_stderr
from bayplan.cli.options import MANY, Arguments, Command, Option, Positional
from bayplan.report import Batch
from bayplan.report.findings import escape

WIDTH = 100
"""Columns of the help. Asking the terminal for its width takes longer than everything else."""


def parse(argv: Sequence[str]) -> Arguments | int:
    """The parsed command line. An exit code: it is for help or completions, or it is wrong; both are printed."""
    if "--version" in argv and {*argv} <= {"--version", "-v", "--verbose"}:
        failed = output.write(f"{line}\n" for line in versions())
        return finish(Arguments(Command("", "", ""), (), {}), [Batch(failed)])
    shown = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(shown, encoding="utf-8", write_through=True)):
        parsed = _parsed(argv)
        text = shown.getvalue()
    failed = output.write_bytes([text])
    return finish(Arguments(Command("", "", ""), (), {}), [Batch(failed)]) if failed else parsed


def _parsed(argv: Sequence[str]) -> Arguments | int:
    if COMPLETE in os.environ:
        from bayplan.cli import completion  # noqa: F401  # registers what bash needs
    try:
        parsed: Arguments | int = program().main(list(argv), called(), complete_var=COMPLETE, standalone_mode=False)
    except click.UsageError as wrong:
        text = io.StringIO()
        vars(wrong)["message"] = escape(wrong.message)
        wrong.show(text)
        write_stderr(text.getvalue())
        return 2
    except click.Abort as interrupted:
        raise interrupted.__cause__ or KeyboardInterrupt from None
    except SystemExit as end:  # after completions
        return int(end.code or 0)
    return parsed


PACKAGES = ("click", "jinja2", "jsonschema", "ortools", "torchx", "kubernetes-validate")
PROGRAMS = ("kubectl", "kustomize", "helm", "git")


def versions() -> Iterator[str]:
    """The versions of what bayplan uses, and the known versions of components. It runs no program, and shows paths."""
    import shutil
    import sysconfig
    from importlib.metadata import PackageNotFoundError, version

    from bayplan.model.target import KNOWN
    from bayplan.text.yaml import libyaml
    from bayplan.workflows.native import API_VERSION

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    yield f"{PROGRAM} {__version__}"
    yield from output.table(
        [
            ("  python", f"{sys.implementation.name} {sys.version.split()[0]}"),
            ("  platform", sysconfig.get_platform()),
            ("  pyyaml", f"{installed('pyyaml')} {libyaml()}"),
            *((f"  {name}", installed(name)) for name in PACKAGES),
            ("  formats", API_VERSION),
            *((f"  {name}", ", ".join(known)) for name, known in KNOWN.items()),
            *((f"  {name}", shutil.which(name) or "not on the PATH") for name in PROGRAMS),
        ]
    )


def program() -> click.Group:
    """The whole tree of commands."""
    top = CommandGroup("", name=PROGRAM, help=ABOUT, epilog=EXITS, context_settings={"terminal_width": WIDTH})
    text = "Show the version and exit. With --verbose: the versions of everything that bayplan uses."
    click.version_option(__version__, message="%(prog)s %(version)s", help=text)(top)
    return top


class CommandGroup(click.Group):
    """The commands with a common prefix, in the order of the table. click requests each when it needs it."""

    def __init__(self, prefix: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The next words of the commands, without duplicates."""
        names = (command.name for command in COMMANDS if command.name.startswith(self.prefix))
        return list(dict.fromkeys(name.removeprefix(self.prefix).split(" ")[0] for name in names))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command or group with this name."""
        full = self.prefix + name
        if full in GROUPS:
            return CommandGroup(f"{full} ", name=name, help=GROUPS[full])
        found = next((command for command in COMMANDS if command.name == full), None)
        return _command(found, name) if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help."""
        summaries = {**GROUPS, **{command.name: command.summary for command in COMMANDS}}
        with formatter.section("Commands"):
            formatter.write_dl([(name, summaries[self.prefix + name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command by its name; an unknown name gets a suggestion."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            from bayplan.core.phrases import did_you_mean

            guess = did_you_mean(args[0], names)
            ctx.fail(f'unknown command "{args[0]}"{f": {guess}" if guess else "."}')
        return super().resolve_command(ctx, args)


def _command(command: Command, name: str) -> click.Command:
    def call(**values: Any) -> Arguments:
        words = [word for number in range(len(command.arguments)) for word in _values(values[f"words{number}"])]
        options = {option.key: _values(values[option.key.replace("-", "_")]) for option in command.options}
        return Arguments(command, tuple(words), {key: value for key, value in options.items() if value})

    params: list[click.Parameter] = [_argument(n, each) for n, each in enumerate(command.arguments)]
    params += [_option(each) for each in command.options]
    text = f"{command.summary}\n\n{command.description}" if command.description else command.summary
    return click.Command(name, params=params, callback=call, help=text, short_help=command.summary)


def _argument(number: int, argument: Positional) -> click.Argument:
    kind = _Choice(argument.choices) if argument.choices else click.Path() if argument.file else click.STRING
    many = argument.most == MANY
    optional = not argument.least
    shown = f"[{argument.metavar}]" if optional else f"{argument.metavar}{'...' if many else ''}"
    own = None if argument.choices or argument.file else _completer(argument.metavar)
    return click.Argument(
        [f"words{number}"],
        type=kind,
        nargs=-1 if many else 1,
        required=not optional,
        metavar=shown,
        shell_complete=own,
    )


if TYPE_CHECKING:
    _AnyChoice = click.Choice[str]
else:
    _AnyChoice = click.Choice  # before click 8.2 it takes no parameter


class _Choice(_AnyChoice):
    """A choice, of which absent plug-ins have some words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if message := plugins.without(str(value)):
            self.fail(f"{message}: {plugins.WAY}.", param, ctx)
        return super().convert(value, param, ctx)


def _completer(key: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Completes the values of an option or an argument. It loads what it needs when a shell asks."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> Any:
        from bayplan.cli import completion

        return completion.complete(key, context, incomplete)

    return complete


def _option(option: Option) -> click.Option:
    names = [*option.names, option.key.replace("-", "_")]
    if not option.metavar:
        return click.Option(names, is_flag=True, help=option.help)
    kind = _Choice(option.choices) if option.choices else click.Path() if "FILE" in option.metavar else click.STRING
    shown = None if option.choices else option.metavar
    own = _completer(option.key) if kind is click.STRING else None
    return click.Option(names, type=kind, multiple=True, metavar=shown, help=option.help, shell_complete=own)


def _values(value: Any) -> tuple[str, ...]:
    """The values of an option. None and False: it is not given. True: a switch."""
    if value is None or value is False:
        return ()
    if value is True:
        return ("",)
    return tuple(value) if isinstance(value, tuple) else (value,)


# Completion for kubectl. That of shells is in completion.py.

FILES, NO_FILES = 0, 4
"""Directives of Cobra: what the shell completes in addition (cobra 1.9, `completions.go`, ShellCompDirective)."""


def for_kubectl(argv: Sequence[str]) -> int:
    """`kubectl_complete-bayplan`: the completions of the last word, each with its description, and a directive.

    Source: kubectl 1.34, pkg/cmd/plugin/plugin_completion.go, `pluginCompletion`.
    """
    from click.shell_completion import ShellComplete

    *words, last = argv or [""]
    found = ShellComplete(program(), {}, PROGRAM, COMPLETE).get_completions(words, last)
    lines = [f"{each.value}\t{each.help or ''}".rstrip() for each in found if each.type == "plain"]
    directive = FILES if any(each.type != "plain" for each in found) else NO_FILES
    return int(bool(output.write(f"{line}\n" for line in (*lines, f":{directive}"))))
