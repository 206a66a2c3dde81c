"""The types of the command table, and the parsed command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.core.phrases import did_you_mean

if TYPE_CHECKING:
    from bayplan.text.source import Limits


class Option(NamedTuple):
    """One option. Without a metavar it is a switch. Its key is the last of its names without dashes.

    It may occur several times. A command that takes one value takes the last.
    """

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`diagnostics` of `--diagnostics`."""
        return self.names[-1].removeprefix("--")


class Positional(NamedTuple):
    """A positional argument of a command: at least `least` words, at most `most`."""

    metavar: str
    least: int = 1
    most: int = 1
    choices: tuple[str, ...] = ()
    file: bool = True


MANY = 1_000_000
"""No limit."""


class Command(NamedTuple):
    """One command. `module` is its module in `bayplan.cli`, with the name of the function if that is not `run`."""

    name: str  # "render", "topology export"
    module: str  # "render", "topology_export", "kustomize.doctor"
    summary: str
    arguments: tuple[Positional, ...] = ()
    options: tuple[Option, ...] = ()
    description: str = ""

    def takes(self, words: tuple[str, ...]) -> bool:
        """Whether the command accepts these words."""
        least, most = sum(a.least for a in self.arguments), sum(a.most for a in self.arguments)
        pairs = zip(self.arguments, words, strict=False)
        return least <= len(words) <= most and all(not a.choices or word in a.choices for a, word in pairs)


class Arguments(NamedTuple):
    """The parsed command line: the words in order, and the values of each option that it has ("" for a switch)."""

    command: Command
    words: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]

    def has(self, key: str) -> bool:
        """Whether the command line has the option."""
        return key in self.options

    def value(self, key: str, default: str = "") -> str:
        """The last value of an option."""
        return self.options.get(key, (default,))[-1]

    def values(self, key: str) -> tuple[str, ...]:
        """All values of an option."""
        return self.options.get(key, ())


# Values of options -> values of the request, or errors. All routes are `("argument", OPTION)`.


def target(args: Arguments) -> Outcome[Mapping[str, str]]:
    """`kai=0.17,draDriver=25.12` -> {"kai": "0.17", ...}. The pipeline checks the names and versions."""
    versions: dict[str, str] = {}
    wrong: list[Diagnostic] = []
    for pair in ",".join(args.values("target")).split(",") if args.has("target") else ():
        name, equals, version = (part.strip() for part in pair.partition("="))
        if not (name and equals and version):
            message = f'--target takes COMPONENT=VERSION pairs with commas between them, not "{pair}"'
            wrong.append(error("A920", ("argument", "--target"), message, hint="for example: kai=0.17,draDriver=25.12"))
        elif versions.setdefault(name, version.removeprefix("v")) != version.removeprefix("v"):
            message = f"--target has two versions of {name}: {versions[name]} and {version}"
            wrong.append(error("A920", ("argument", "--target"), message, hint="remove one of the two"))
    return Outcome(None if wrong else versions, tuple(wrong))


def accept(args: Arguments, *beginnings: str) -> Outcome[frozenset[str]]:
    """The codes of --accept. `beginnings`: of the codes that the command downgrades, beside F."""
    return _codes(args, "accept", ("F", *beginnings))


def fail_on(args: Arguments) -> Outcome[frozenset[str]]:
    """The codes of --fail-on."""
    return _codes(args, "fail-on")


def _codes(args: Arguments, key: str, beginnings: tuple[str, ...] = ("",)) -> Outcome[frozenset[str]]:
    """The codes of an option, with commas between them."""
    codes = [code.strip() for value in args.values(key) for code in value.split(",")]
    if not codes:
        return Outcome(frozenset())
    wrong = tuple(found for code in codes if (found := _unacceptable(f"--{key}", code, beginnings)))
    return Outcome(None if wrong else frozenset(codes), wrong)


def _unacceptable(option: str, code: str, beginnings: tuple[str, ...]) -> Diagnostic | None:
    from bayplan.report.codes import sections

    route = ("argument", option)
    if code not in sections():
        hint = did_you_mean(code, sections()) or "copy the code from the brackets after `error`"
        return error("A920", route, f'unknown code: "{code}"', hint=hint)
    if not code.startswith(beginnings):
        begin = " or ".join(beginnings)
        message = f"{option} takes only codes that begin with {begin}, not {code} ({sections()[code].title})"
        hint = f"remove {option} {code}, and correct what {code} reports"
        return error("A920", route, message, hint=hint)
    return None


def limits(args: Arguments, variable: str) -> Outcome[Limits]:
    """The limits of --limit, and of the environment variable BAYPLAN_LIMIT for limits that --limit does not set."""
    from bayplan.text.source import DEEPEST, Limits

    amounts: dict[str, int] = {}
    words = (("BAYPLAN_LIMIT", variable), *(("--limit", value) for value in args.values("limit")))
    for name, pair in ((name, pair) for name, word in words if word for pair in word.split(",")):
        key, _, amount = (part.strip() for part in pair.partition("="))
        most = DEEPEST if key == "depth" else _LARGEST
        number = _whole(amount)
        if key in Limits._fields and 1 <= number <= most:
            amounts[key] = number
            continue
        message = f'{name} takes {", ".join(f"{each}=N" for each in Limits._fields)}, not "{pair}"'
        hint = "for example: --limit bytes=512Mi,values=10M"
        if key in Limits._fields and number > most:
            message, hint = f"{name} sets {key} to {amount}; the most is {most:,}", f"write {key}={most} or less"
        return Outcome(None, (error("A920", ("argument", name), message, hint=hint),))
    return Outcome(Limits(**amounts))


_LARGEST = 2**40


def _whole(text: str) -> int:
    """A whole quantity such as 10M or 512Mi; -1 for other text."""
    from bayplan.kube import quantity

    try:
        number, rest = divmod(quantity.parse(text), 1000)
    except ValueError:
        return -1
    return -1 if rest else number


def variables(args: Arguments) -> Outcome[Mapping[str, int | float | str]]:
    """`--set K=V` -> {"K": V}, a number if it looks like one; `--set-string K=V` -> a string, and it wins.

    Source: OSMO 6.4, src/utils/job/workflow.py, `TemplateSpec`.
    """
    found: dict[str, int | float | str] = {}
    for option, make in (("set", _number), ("set-string", str)):
        for word in args.values(option):
            name, equals, value = word.partition("=")
            if not (name and equals):
                message = f'--{option} takes NAME=VALUE, not "{word}"'
                hint = f"write --{option} {name or 'NAME'}=VALUE"
                return Outcome(None, (error("A920", ("argument", f"--{option}"), message, hint=hint),))
            found[name] = make(value)
    return Outcome(found)


def _number(text: str) -> int | float | str:
    """An integer, a float or the string itself, as Python reads it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
