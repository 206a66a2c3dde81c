"""The lines of Slurm's configuration files (Slurm 25.11, `src/common/parse_config.c`).

Keys are case-insensitive, `#` starts a comment, a backslash at the end continues a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bayplan.core.diagnostics import AT, Route
from bayplan.core.values import NamedTuple

_PAIR = re.compile(r'(\w+)\s*=\s*("[^"]*"|[^\s"]+|)\s*')


class Line(NamedTuple):
    """One line: its first key in lower case, all of its pairs, and what of it is no pair."""

    kind: str
    pairs: Mapping[str, str]
    route: Route
    rest: str = ""


def lines(text: str, at: Route) -> Iterator[Line]:
    """Every line that says something."""
    for number, whole in logical(text):
        pairs: dict[str, str] = {}
        end = 0
        while pair := _PAIR.match(whole, end):
            pairs[pair[1].lower()] = pair[2].strip('"')
            end = pair.end()
        yield Line(next(iter(pairs), ""), pairs, (*at, AT, number, 1), whole[end:])


def logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, continued ones joined, with the number of the first."""
    held: list[str] = []
    first = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#", 1)[0].rstrip()
        first = first if held else number
        held.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if whole := "".join(held).strip():
            yield first, whole
        held = []
    if whole := "".join(held).strip():
        yield first, whole
