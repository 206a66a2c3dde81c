"""CEL expressions, as far as a look at their quotes and brackets goes (cel-spec, "Lexis")."""

from __future__ import annotations

import re

PIECE = re.compile(
    r"""
    //[^\n]*                                                                     # a comment
    | (?<!\w)(?:[bB]?[rR]|[rR][bB])(?s:\"\"\".*?\"\"\"|'''.*?''')                # raw: without escapes
    | (?<!\w)(?:[bB]?[rR]|[rR][bB])(?:"[^"\n]*"|'[^'\n]*')
    | (?s:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?''')
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | ["'()\[\]{}]
    """,
    re.VERBOSE,
)
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def fault(text: str) -> str:
    """Why nobody can read an expression; empty where quotes and brackets say nothing against it."""
    open_: list[str] = []
    for piece in (found[0] for found in PIECE.finditer(text)):
        if piece in CLOSED_BY:
            open_.append(piece)
        elif piece in CLOSED_BY.values() and (not open_ or CLOSED_BY[open_.pop()] != piece):
            return f"{piece} closes nothing"
        elif piece in ('"', "'"):
            return "a quote is never closed"
    return f"{open_[-1]} is never closed" if open_ else "" if text.strip() else "it is empty"
