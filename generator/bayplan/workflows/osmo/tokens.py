"""OSMO's runtime tokens: `{{workflow_id}}`, `{{output}}`, `{{input:<index or task>}}`, `{{host:<task>}}`.

OSMO replaces them when the workflow is started, in every text of a task; spaces just inside the braces do not matter
there (OSMO 6.4, src/utils/job/task.py). `{{uuid}}` passes its templates like a token, and nothing replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple

HOST = "host"
INPUT = "input"
OUTPUT = "output"
WORKFLOW_ID = "workflow_id"
UUID = "uuid"

TOKEN = re.compile(r"\{\{ *(?:(workflow_id|output|uuid)|(host|input):([a-zA-Z0-9_-]+)) *\}\}")
"""Whatever OSMO may replace, and `{{uuid}}`."""

LOOKALIKE = re.compile(
    r"\{\{\s*(?:(?:workflow[-_ ]?id|outputs?|uuid)\s*|(?:host|input)s?\s*:[^{}\n]{0,100})\}\}", re.IGNORECASE
)
"""What was likely meant to be a token."""


class Token(NamedTuple):
    """A token in a text: `{{ host:rank0 }}` has the kind "host" and the name "rank0"; other kinds have no name."""

    kind: str
    name: str
    text: str


def find(text: str) -> tuple[Token, ...]:
    """The tokens of a text in order, each as often as it occurs."""
    return tuple(map(_token, TOKEN.finditer(text))) if "{{" in text else ()


def replace(text: str, value: Callable[[Token], str | None]) -> str:
    """The text with each token's value in its place; a token without a value (None) stays."""
    if "{{" not in text:
        return text

    def filled(match: re.Match[str]) -> str:
        new = value(_token(match))
        return match[0] if new is None else new

    return TOKEN.sub(filled, text)


def _token(match: re.Match[str]) -> Token:
    return Token(match[1] or match[2], match[3] or "", match[0])


def misspelt(text: str) -> tuple[str, ...]:
    """What looks like a token and is none, as `{{hosts:a}}` or `{{ host: a }}`."""
    return tuple(each for each in LOOKALIKE.findall(text) if not TOKEN.fullmatch(each)) if "{{" in text else ()


def texts(value: Any, route: Route) -> Iterator[tuple[str, Route]]:
    """Every text below a value of the data with its route, keys of mappings left out."""
    if isinstance(value, str):
        yield value, route
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from texts(below, (*route, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from texts(below, (*route, index))


TEMPLATE_TOKEN = re.compile(r"{{(?:(uuid|workflow_id|output|(?:input|host):[^}]++)}}|(?:input|host):[^}]++)")
"""A token, whose field is the group. Without a group: what begins as one and does not end so, and in which no other
can begin either, since its first brace is theirs. Stepping over it keeps the search linear."""


class Misspelt(NamedTuple):
    """What looks like a token and is none: its extent (offsets), and the token that was likely meant."""

    start: int
    end: int
    token: str


def misspelt_tokens(text: str) -> Iterator[Misspelt]:
    """What was likely meant for a token, as `{{ host:a }}` or `{{ output }}`, and is one to nobody."""
    for match in LOOKALIKE.finditer(text):
        kind, colon, name = re.sub(r"\s", "", match[0][2:-2]).partition(":")
        kind = kind.lower().replace("-", "_").replace("workflowid", "workflow_id").removesuffix("s")
        token = f"{{{{{kind}{colon}{name}}}}}"
        if TOKEN.fullmatch(token) and token != match[0]:
            yield Misspelt(*match.span(), token)
