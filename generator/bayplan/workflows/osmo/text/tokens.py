"""Runtime tokens such as {{output}}: they look like Jinja, and are filled in when a pod runs.

OSMO hides them from Jinja behind variables whose values they are, in the exact form without spaces only (OSMO 6.4,
src/utils/job/workflow.py, `TemplateSpec`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from bayplan.values import NamedTuple
from bayplan.workflows.osmo import tokens

TOKEN = re.compile(r"{{(?:(uuid|workflow_id|output|(?:input|host):[^}]++)}}|(?:input|host):[^}]++)")
"""A token, whose field is the group. Without a group: what begins as one and does not end so, and in which no other
can begin either, since its first brace is theirs. Stepping over it keeps the search linear."""

MARKERS = ("{%", "{{", "{#")
"""What begins something for Jinja to do."""


class Hidden(NamedTuple):
    """A template without tokens, variable -> the token that it stands for, and what all these variables begin with."""

    template: str
    tokens: Mapping[str, str]
    stem: str


class Meant(NamedTuple):
    """What looks like a token and is none: its extent (offsets), and the token that was likely meant."""

    start: int
    end: int
    token: str


def hide(text: str) -> Hidden:
    """Puts a variable of its own in the place of each token; lines stay lines."""
    stem = _stem(text)
    names: dict[str, str] = {}

    def variable(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        name = names.setdefault(found[0], f"{stem}{len(names)}")
        return f"{{{{{name}{_line_feeds(found[0])}}}}}"

    template = TOKEN.sub(variable, text)
    return Hidden(template, {name: token for token, name in names.items()}, stem)


def _stem(text: str) -> str:
    """The beginning of variables that the text does not name."""
    taken = set(re.findall(r"runtime_token([0-9]+)_", text))
    return next(f"runtime_token{number}_" for number in count() if str(number) not in taken)


def _line_feeds(token: str) -> str:
    return "\n" * token.count("\n")


class Revealed(NamedTuple):
    """A text with its tokens again: where they begin in it (offsets), and what leads there from what Jinja wrote."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]  # of their variables, in what Jinja wrote
    shifts: Sequence[int]  # of what stands behind each of them

    def offset(self, written: int) -> int:
        """Where a character stands that Jinja wrote at that offset."""
        behind = bisect_right(self.ends, written)
        return written + (self.shifts[behind - 1] if behind else 0)


def reveal(text: str, hidden: Hidden) -> Revealed:
    """Tokens again where Jinja left variables alone: in a raw block or a text."""
    starts: list[int] = []
    ends: list[int] = []
    shifts = [0]

    def token(found: re.Match[str]) -> str:
        made = hidden.tokens.get(found[1], found[0])
        starts.append(found.start() + shifts[-1])
        ends.append(found.end())
        shifts.append(shifts[-1] + len(made) - len(found[0]))
        return made

    shown = re.sub(rf"{{{{({hidden.stem}[0-9]+)\n*}}}}", token, text)
    return Revealed(shown, starts, ends, shifts[1:])


def rest(text: str) -> str:
    """The text without its tokens, each a character that is neither a brace nor a sign of Jinja's."""
    return TOKEN.sub(lambda found: found[0] if found[1] is None else "\0", text)


def plain(text: str) -> bool:
    """Whether Jinja would only put the tokens back."""
    left = rest(text)
    return not any(marker in left for marker in MARKERS) and "{\0" not in left


def meant(text: str) -> Iterator[Meant]:
    """What was likely meant for a token, as `{{ host:a }}` or `{{ output }}`, and is one to nobody."""
    for found in tokens.LIKE.finditer(text):
        kind, colon, name = re.sub(r"\s", "", found[0][2:-2]).partition(":")
        kind = kind.lower().replace("-", "_").replace("workflowid", "workflow_id").removesuffix("s")
        token = f"{{{{{kind}{colon}{name}}}}}"
        if tokens.TOKEN.fullmatch(token) and token != found[0]:
            yield Meant(*found.span(), token)
