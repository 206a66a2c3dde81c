"""The commands and options in docs/reference/cli.md: `python tests/tools/refresh_docs.py` writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bayplan.cli.commands import COMMANDS
from bayplan.cli.options import MANY, Command, Option, Positional
from tools.docs import filled
from tools.scheduler_matrix import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"

COMMON = tuple(option for option, count in Counter(o for c in COMMANDS for o in c.options).items() if count > 3)
"""Options of many commands, in the order of their first use: the page explains them once."""


def page(text: str) -> str:
    """The page with commands and options as they are now."""
    return filled(
        text,
        {
            "common": _options(COMMON),
            "commands": "\n\n".join(part for command in COMMANDS for part in _parts(command)),
        },
    )


def _parts(command: Command) -> Iterator[str]:
    yield f"### {command.name}"
    options = ["[OPTIONS]"] if command.options else []
    yield f"```text\n{' '.join(('bayplan', command.name, *map(_word, command.arguments), *options))}\n```"
    yield f"{command.summary} {command.description}".rstrip()
    choices = [f"`{a.metavar}` is {_one_of(a.choices)}." for a in command.arguments if a.choices]
    yield from choices
    own = [option for option in command.options if option not in COMMON]
    if own:
        yield _options(own)
    common = [option for option in command.options if option in COMMON]
    if common:
        missing = [option for option in COMMON if option not in common]
        names = ", ".join(f"`{option.names[-1]}`" for option in min(common, missing, key=len))
        yield f"Common options: {'all but ' * (len(missing) < len(common))}{names}."


def _word(argument: Positional) -> str:
    word = f"{argument.metavar}{'...' if argument.most == MANY else ''}"
    return word if argument.least else f"[{word}]"


def _options(options: Sequence[Option]) -> str:
    return table(["option", "meaning"], ((_spelled(option), _meaning(option)) for option in options))


def _spelled(option: Option) -> str:
    *short, last = option.names
    return ", ".join(f"`{name}`" for name in (*short, f"{last} {option.metavar}".rstrip()))


def _meaning(option: Option) -> str:
    choices = f"{option.metavar} is {_one_of(option.choices)}." if option.choices else ""
    return " ".join(filter(None, (option.help, choices)))


def _one_of(choices: tuple[str, ...]) -> str:
    *first, last = (f"`{choice}`" for choice in choices)
    return f"{', '.join(first)} or {last}"
