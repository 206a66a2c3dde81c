"""The parser for well-formed command lines. What it does not understand is left to click, which says what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayplan.cli.options import Command, Given


def find(argv: Sequence[str], commands: Iterable[Command]) -> tuple[Command, Sequence[str]] | None:
    """The command that the first word or two words name, and the rest."""
    for length in (2, 1):
        name = " ".join(argv[:length])
        for command in commands:
            if command.name == name and len(argv) >= length == len(name.split(" ")):
                return command, argv[length:]
    return None


def parse(command: Command, argv: Sequence[str]) -> Given | None:
    """The command line, or None unless it is of the plain kind: known options spelled out, values where due."""
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
        options[option.key] = (*options.get(option.key, ()), value) if option.many else (value,)
    return Given(command, tuple(words), options) if command.takes(tuple(words)) else None
