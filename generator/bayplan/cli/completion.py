"""Shell completion by click: the script of `bayplan completion`, and the values of options and arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from click import Command, Context
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from bayplan.cli import output
from bayplan.cli.commands import COMPLETE, PROGRAM
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments

WORDS = "words0"
"""The parameter of click with the first arguments of a command."""

Values = Iterable[tuple[str, str]]
"""Words with their descriptions, which zsh and fish show."""


def run(args: Arguments) -> int:
    """`bayplan completion`: the script for the shell, without asking the shell for its version."""
    kind = get_completion_class(args.words[0])
    if kind is None:
        raise AssertionError(f"click does not know {args.words[0]}")
    script = ShellComplete.source(kind(Command(PROGRAM), {}, PROGRAM, COMPLETE))
    return finish(args, (), lambda: output.write([f"{script}\n"]))


@add_completion_class
class Bash(BashComplete):
    """bash makes `=` a word of its own, and replaces only what follows it: `--target kai=0.17` is four words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, with the parts around each `=` together, and the word at the cursor."""
        split = split_arg_string(os.environ["COMP_WORDS"])
        cursor = int(os.environ["COMP_CWORD"])
        words: list[str] = []
        for word in [*split, ""][: cursor + 1]:
            if words and (word == "=" or words[-1].endswith("=")):
                words[-1] += word
            else:
                words.append(word)
        return words[1:-1], words[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """The word without what the line has up to its last `=`."""
        _, incomplete = self.get_completion_args()
        value = incomplete.partition("=")[2] if incomplete.startswith("-") else incomplete
        before = value.rpartition("=")
        return f"{item.type},{item.value.removeprefix(before[0] + before[1])}"


def complete(key: str, context: Context, incomplete: str) -> list[CompletionItem[str]]:
    """The values of an option, or of an argument by its metavar, that begin with the incomplete word.

    The shell puts it on the command line without quotes, so that names in files such as `$(reboot)` are left out.
    """
    from bayplan.kube.shell import PLAIN

    values = VALUES[key](context, incomplete) if key in VALUES else ()
    plain = ((word, about) for word, about in values if PLAIN.fullmatch(word))
    return [CompletionItem(word, help=about or None) for word, about in plain if word.startswith(incomplete)]


def _schedulers(context: Context, incomplete: str) -> Values:
    from bayplan.backends import NAMES

    yield from ((name, "") for name in NAMES)
    if context.info_name == "check":
        yield "all", "a table of all schedulers"


def _writable(context: Context, incomplete: str) -> Values:
    from bayplan.topologies import WRITTEN

    return ((name, "") for name in dict.fromkeys((*(name for name, _ in _schedulers(context, "")), *WRITTEN)))


def _codes(context: Context, incomplete: str) -> Values:
    """The codes that the command can downgrade."""
    from bayplan.report.codes import sections

    letters = ("F", "M") if context.info_name == "lint" else ("F",)
    return ((code, section.title) for code, section in sections().items() if code.startswith(letters))


def _all_codes(context: Context, incomplete: str) -> Values:
    from bayplan.report.codes import sections

    return ((code, section.title) for code, section in sections().items())


def _explained(context: Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """All codes, and the fields at most one level below the word."""
    from bayplan.cli.schema_fields import all_fields

    yield from _all_codes(context, incomplete)
    for field in all_fields():
        if field.name.count(".") <= incomplete.count(".") + 1:
            yield field.name, field.schema.get("description", "")


def _versions(context: Context, incomplete: str) -> Values:
    """`COMPONENT=VERSION` pairs, of which the last is incomplete."""
    from bayplan.model.target import KNOWN

    before = incomplete[: incomplete.rfind(",") + 1]
    return ((f"{before}{name}={version}", "") for name, versions in KNOWN.items() for version in versions)


def _formats(context: Context, incomplete: str) -> Values:
    from bayplan.workflows import FORMATS

    return ((name, "") for name in FORMATS)


def _presets(context: Context, incomplete: str) -> Values:
    from bayplan.topologies.kubernetes_nodes.levels import PRESETS

    return ((name, "") for name in PRESETS)


def _accelerators(context: Context, incomplete: str) -> Values:
    from bayplan.cli.init import MACHINES

    return ((name, f"{each.cards} on each node, {each.resource}") for name, each in MACHINES.items())


def _gangs(context: Context, incomplete: str) -> Values:
    return ((name, "") for data in _read(context, WORDS) for name in _names(data, "spec", "gangs"))


def _namespaces(context: Context, incomplete: str) -> Values:
    from bayplan.kube.objects import mapping

    return (
        (name, "")
        for data in _read(context, "topology")
        for name in mapping(data, "spec", "namespaces")
        if isinstance(name, str)
    )


def _queues(context: Context, incomplete: str) -> Values:
    from bayplan.kube.objects import mapping

    listed = (mapping(data, "spec").get("queues") or () for data in _read(context, "topology"))
    names = (each.get("name") if isinstance(each, dict) else each for queues in listed for each in queues)
    return ((name, "") for name in names if isinstance(name, str))


def _levels(context: Context, incomplete: str) -> Values:
    from bayplan.kube.objects import items

    file = "topology" if "topology" in context.params else WORDS
    pools = (pool for data in _read(context, file) for pool in items(data, "spec", "pools"))
    return ((name, "") for name in dict.fromkeys(name for pool in pools for name in _names(pool, "levels")))


def _names(data: Any, *path: str) -> Iterator[str]:
    from bayplan.kube.objects import items, text

    return filter(None, (text(each, "name") for each in items(data, *path)))


def _read(context: Context, parameter: str) -> Iterator[Any]:
    """The documents of the files that are on the command line already.

    click leaves the arguments in `args` if the last option has no value yet.
    """
    from bayplan.cli.files import load

    given = context.params.get(parameter) or (context.args if parameter == WORDS else ())
    for path in (given,) if isinstance(given, str) else given:
        yield from (each.data for each in load(path, "workflow")[0]) if path != "-" else ()


VALUES: Mapping[str, Callable[[Context, str], Values]] = {
    "scheduler": _schedulers,
    "to": _writable,
    "accept": _codes,
    "fail-on": _all_codes,
    "target": _versions,
    "from": _formats,
    "preset": _presets,
    "accelerator": _accelerators,
    "gang": _gangs,
    "namespace": _namespaces,
    "queue": _queues,
    "level": _levels,
    "CODE|FIELD|OBJECT": _explained,
    "NAME": _schedulers,
}
"""Key of an option, or metavar of an argument -> its values. Choices and files complete without a row."""
