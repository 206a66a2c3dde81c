"""Runtime tokens such as {{output}}: they look like Jinja, and are filled in when a pod runs.

OSMO hides them from Jinja behind variables whose values they are, in the exact form without spaces only (OSMO 6.4,
src/utils/job/workflow.py, `TemplateSpec`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bayplan.values import NamedTuple

TOKEN = re.compile(r"{{(uuid|workflow_id|output|input:[^}]+|host:[^}]+)}}")
MARKERS = ("{%", "{{", "{#")
"""What begins something for Jinja to do."""


class Hidden(NamedTuple):
    """A template without tokens, and variable -> the token that it stands for."""

    template: str
    tokens: Mapping[str, str]


def hide(text: str) -> Hidden:
    """Puts a variable of its own in the place of each token; lines stay lines."""
    stem = "runtime_token"
    while stem in text:
        stem += "_"
    tokens: dict[str, str] = {}
    for number, field in enumerate(dict.fromkeys(TOKEN.findall(text))):
        token, name = f"{{{{{field}}}}}", f"{stem}{number}"
        tokens[name] = token
        lines = "\n" * token.count("\n")
        text = text.replace(token, f"{{{{{name}{lines}}}}}")
    return Hidden(text, tokens)


def reveal(text: str, tokens: Mapping[str, str]) -> str:
    """Tokens again where Jinja left variables alone: in a raw block or a text."""
    for name, token in tokens.items():
        lines = "\n" * token.count("\n")
        text = text.replace(f"{{{{{name}{lines}}}}}", token)
    return text


def rest(text: str) -> str:
    """The text without its tokens, each a character that is neither a brace nor a sign of Jinja's."""
    return TOKEN.sub("\0", text)


def plain(text: str) -> bool:
    """Whether Jinja would only put the tokens back."""
    left = rest(text)
    return not any(marker in left for marker in MARKERS) and "{\0" not in left
