"""The shapes of the command table, and what a command line comes to. Both parsers are built from these rows.

Without the future import of annotations: `typing` compiles every one that is a text, and --help counts milliseconds.
"""

from collections.abc import Mapping

from bayplan.values import NamedTuple


class Option(NamedTuple):
    """One option. Without a metavar it is a switch. The last spelling without its dashes is its key."""

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    many: bool = False
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`diagnostics` of `--diagnostics`."""
        return self.names[-1].removeprefix("--")


class Argument(NamedTuple):
    """The positional words of a command: at least `least`, at most `most`."""

    metavar: str
    least: int = 1
    most: int = 1
    choices: tuple[str, ...] = ()
    file: bool = True


MANY = 1_000_000
"""As many words as the command line holds."""


class Command(NamedTuple):
    """One command; its module is `bayplan.cli.<module>` and has `run(Given) -> int`."""

    name: str  # "render", "topology export"
    module: str
    summary: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    description: str = ""

    def takes(self, words: tuple[str, ...]) -> bool:
        """Whether so many words, and these, may be given."""
        least, most = sum(a.least for a in self.arguments), sum(a.most for a in self.arguments)
        pairs = zip(self.arguments, words, strict=False)
        return least <= len(words) <= most and all(not a.choices or word in a.choices for a, word in pairs)


class Given(NamedTuple):
    """What was given to a command: words in order, and the values of each option that is there ("" for a switch)."""

    command: Command
    words: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]

    def on(self, key: str) -> bool:
        """Whether the option is there."""
        return key in self.options

    def one(self, key: str, default: str = "") -> str:
        """The option's last value."""
        return self.options.get(key, (default,))[-1]

    def all(self, key: str) -> tuple[str, ...]:
        """All values of an option."""
        return self.options.get(key, ())
