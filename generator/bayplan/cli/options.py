"""The shapes of the command table, and what a command line comes to. Both parsers are built from these rows.

Without the future import of annotations: `typing` compiles every one that is a text, and --help counts milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.diagnostics import Diagnostic, Outcome, error, info
from bayplan.core.phrases import did_you_mean
from bayplan.core.values import NamedTuple


class Option(NamedTuple):
    """One option. Without a metavar it is a switch. The last spelling without its dashes is its key.

    It may be there several times; a command that takes one value takes the last.
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
    """The positional words of a command: at least `least`, at most `most`."""

    metavar: str
    least: int = 1
    most: int = 1
    choices: tuple[str, ...] = ()
    file: bool = True


MANY = 1_000_000
"""As many words as the command line holds."""


class Command(NamedTuple):
    """One command; `module` is that in `bayplan.cli` which runs it, and its function where that is not `run`."""

    name: str  # "render", "topology export"
    module: str  # "render", "topology_export", "kustomize.doctor"
    summary: str
    arguments: tuple[Positional, ...] = ()
    options: tuple[Option, ...] = ()
    description: str = ""

    def takes(self, words: tuple[str, ...]) -> bool:
        """Whether so many words, and these, may be given."""
        least, most = sum(a.least for a in self.arguments), sum(a.most for a in self.arguments)
        pairs = zip(self.arguments, words, strict=False)
        return least <= len(words) <= most and all(not a.choices or word in a.choices for a, word in pairs)


class Arguments(NamedTuple):
    """The parsed command line: words in order, and the values of each option that is there ("" for a switch)."""

    command: Command
    words: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]

    def has(self, key: str) -> bool:
        """Whether the option is there."""
        return key in self.options

    def value(self, key: str, default: str = "") -> str:
        """The option's last value."""
        return self.options.get(key, (default,))[-1]

    def values(self, key: str) -> tuple[str, ...]:
        """All values of an option."""
        return self.options.get(key, ())


# Values of options -> values of the request, or what is wrong with them. All routes are `("argument", OPTION)`.


def target(args: Arguments) -> Outcome[Mapping[str, str]]:
    """`kai=0.17,draDriver=25.12` -> {"kai": "0.17", ...}. What the names and versions mean is for the pipeline."""
    versions: dict[str, str] = {}
    wrong: list[Diagnostic] = []
    for pair in ",".join(args.values("target")).split(",") if args.has("target") else ():
        name, equals, version = (part.strip() for part in pair.partition("="))
        if not (name and equals and version):
            message = f'--target takes COMPONENT=VERSION, with commas between several; "{pair}" is none'
            wrong.append(error("A920", ("argument", "--target"), message, hint="write it as kai=0.17,draDriver=25.12"))
        elif versions.setdefault(name, version.removeprefix("v")) != version.removeprefix("v"):
            message = f"--target names two versions of {name}: {versions[name]} and {version}"
            wrong.append(error("A920", ("argument", "--target"), message, hint="keep one of them"))
    return Outcome(None if wrong else versions, tuple(wrong))


def accept(args: Arguments, letters: str = "F") -> Outcome[frozenset[str]]:
    """The codes to take as warnings: those of fidelity and, where manifests are linted, of manifests."""
    if not (codes := args.values("accept")):
        return Outcome(frozenset())
    from bayplan.report.codes import successors

    today = [successors().get(code, code) for code in codes]
    retired = [_retired(code, now) for code, now in zip(codes, today, strict=True) if code != now]
    wrong = [diagnostic for code in today if (diagnostic := _unacceptable(code, letters))]
    return Outcome(None if wrong else frozenset(today), (*retired, *wrong))


def _retired(code: str, successor: str) -> Diagnostic:
    message = f"{code} is retired; its successor is {successor}"
    return info("A924", ("argument", "--accept"), message, hint=f"write --accept {successor}")


def _unacceptable(code: str, letters: str) -> Diagnostic | None:
    from bayplan.report.codes import sections

    route = ("argument", "--accept")
    if code not in sections():
        hint = did_you_mean(code, sections()) or "bayplan prints the code of a gap in brackets"
        return error("A924", route, f'there is no code "{code}"', hint=hint)
    if code[0] not in letters:
        message = f"{code} ({sections()[code].title}) is not a gap between workflow and scheduler"
        begin = " or ".join(letters)
        hint = f"only codes that begin with {begin} can be accepted; mend this one instead"
        return error("A925", route, message, hint=hint)
    return None


def variables(args: Arguments) -> Outcome[Mapping[str, int | float | str]]:
    """`--set K=V` -> {"K": V}, a number where it is one; `--set-string K=V` -> a text always, and it wins.

    Source: OSMO 6.4, src/utils/job/workflow.py, `TemplateSpec`.
    """
    found: dict[str, int | float | str] = {}
    for option, make in (("set", _number), ("set-string", str)):
        for word in args.values(option):
            name, equals, value = word.partition("=")
            if not (name and equals):
                message = f'--{option} takes NAME=VALUE; "{word}" is none'
                return Outcome(None, (error("A920", ("argument", f"--{option}"), message),))
            found[name] = make(value)
    return Outcome(found)


def _number(text: str) -> int | float | str:
    """An integer, else a float, else the text, as Python reads them."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
