"""OSMO's runtime tokens: `{{workflow_id}}`, `{{output}}`, `{{input:<index or task>}}`, `{{host:<task>}}`.

OSMO replaces them when it starts the workflow, in every string of a task. It ignores spaces just inside the braces
(OSMO 6.4, src/utils/job/task.py). Templates leave `{{uuid}}` unchanged like a token, but nothing replaces it later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bayplan.plugin import Route

HOST = "host"
INPUT = "input"
OUTPUT = "output"
WORKFLOW_ID = "workflow_id"
UUID = "uuid"

TOKEN = re.compile(r"\{\{ *(?:(workflow_id|output|uuid)|(host|input):([a-zA-Z0-9_-]+)) *\}\}")
"""All tokens that OSMO may replace, and `{{uuid}}`."""

LOOKALIKE = re.compile(
    r"\{\{\s*(?:(?:workflow[-_ ]?id|outputs?|uuid)\s*|(?:host|input)s?\s*:[^{}\n]{0,100})\}\}", re.IGNORECASE
)
"""Spellings that the author likely meant as a token."""


class Token(NamedTuple):
    """A token: `{{ host:rank0 }}` has the kind "host" and the name "rank0". Only hosts and inputs have names."""

    kind: str
    name: str
    text: str


def find(text: str) -> tuple[Token, ...]:
    """The tokens of a string in order, each as often as it occurs."""
    return tuple(map(_token, TOKEN.finditer(text))) if "{{" in text else ()


def replace(text: str, value: Callable[[Token], str | None]) -> str:
    """The text with each token replaced by its value. A token without a value (None) stays."""
    if "{{" not in text:
        return text

    def filled(match: re.Match[str]) -> str:
        new = value(_token(match))
        return match[0] if new is None else new

    return TOKEN.sub(filled, text)


def _token(match: re.Match[str]) -> Token:
    return Token(match[1] or match[2], match[3] or "", match[0])


def misspelt(text: str) -> tuple[str, ...]:
    """Pieces that are similar to tokens but are not tokens, such as `{{hosts:a}}` or `{{ host: a }}`."""
    return tuple(each for each in LOOKALIKE.findall(text) if not TOKEN.fullmatch(each)) if "{{" in text else ()


def texts(value: Any, route: Route) -> Iterator[tuple[str, Route]]:
    """Every string in a value of the data with its route, without the keys of mappings."""
    if isinstance(value, str):
        yield value, route
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from texts(below, (*route, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from texts(below, (*route, index))


TEMPLATE_TOKEN = re.compile(r"{{(?:(uuid|workflow_id|output|(?:input|host):[^}]+)}}|(?:input|host):[^}]+)")
"""A token, with its field as the group. Without a group: the beginning of a token without its end. No other token can
begin in it, so skipping it keeps the search linear."""


class Misspelt(NamedTuple):
    """A misspelled token: its extent (offsets), and the token that the author likely meant."""

    start: int
    end: int
    token: str


def misspelt_tokens(text: str) -> Iterator[Misspelt]:
    """Misspelled tokens such as `{{ host:a }}` or `{{ output }}`."""
    for match in LOOKALIKE.finditer(text):
        kind, colon, name = re.sub(r"\s", "", match[0][2:-2]).partition(":")
        kind = kind.lower().replace("-", "_").replace("workflowid", "workflow_id").removesuffix("s")
        token = f"{{{{{kind}{colon}{name}}}}}"
        if TOKEN.fullmatch(token) and token != match[0]:
            yield Misspelt(*match.span(), token)
