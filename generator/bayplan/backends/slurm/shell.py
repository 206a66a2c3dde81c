"""Words of a shell script: Kubernetes' `$(NAME)`, and numbers that depend on a task's group."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from bayplan.kube.shell import quote

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")


def expanded(text: str, known: Container[str]) -> str:
    """One word in which `$(NAME)` is the variable of that name, as Kubernetes expands it in env, command and args.

    Names that are not known stay as they are; `$$` is a dollar (Kubernetes `third_party/forked/golang/expansion`).
    """
    parts: list[tuple[bool, str]] = []
    end = 0
    for found in _REFERENCE.finditer(text):
        parts.append((False, text[end : found.start()]))
        name = found[1]
        if name is None:
            parts.append((False, "$"))
        else:
            parts.append((True, name) if name in known and VARIABLE.fullmatch(name) else (False, found[0]))
        end = found.end()
    parts.append((False, text[end:]))
    literal = ""
    words = []
    for variable, piece in [*parts, (True, "")]:
        if not variable:
            literal += piece
            continue
        words += [quote(literal)] if literal else []
        words += [f'"${{{piece}}}"'] if piece else []
        literal = ""
    return "".join(words) or "''"


def series(values: Sequence[int], index: str) -> tuple[str, bool]:
    """What gives the value number `index` of a list, and whether it takes the function `pick` of a task."""
    first = values[0]
    step = values[1] - first if len(values) > 1 else 0
    if list(values) != [first + number * step for number in range(len(values))]:
        return f'$(pick "$(({index}))" {" ".join(map(str, values))})', True
    if not step:
        return str(first), False
    grown = index if step == 1 else f"{index} * {step}"
    return f"$(({first} + {grown}))" if first else f"$(({grown}))", False


PICK = 'pick() { shift "$(($1 + 1))"; printf %s "$1"; }'
"""`pick 2 a b c` prints c."""


def here_document(text: str, word: str) -> str:
    """A delimiter that is no line of the text."""
    lines, free, number = set(text.splitlines()), word, 0
    while free in lines:
        number += 1
        free = f"{word}_{number}"
    return free
