"""Values in pods that the API server refuses (Kubernetes 1.34, pkg/apis/core/validation)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.kube.objects import get, items

LONGEST = 63
LABEL = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
CLAIM = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
KEYED = r"metadata\.(labels|annotations)\['[^']+'\]"
"""Fields of a pod that a variable can refer to (validEnvDownwardAPIFieldPathExpressions)."""

FIELD_HINT = "use a field such as spec.nodeName, status.podIP or metadata.labels['KEY']"
CLAIM_HINT = "use the name of a PersistentVolumeClaim: lower-case letters, digits, hyphens and dots"
LABEL_HINT = f"use at most {LONGEST} letters, digits, `-`, `_` and `.`; annotations can be longer"

Path = tuple[str | int, ...]


class Refused(NamedTuple):
    """The place of a value, what is wrong with it, and what to write."""

    path: Path
    message: str
    hint: str


def labels(pod_labels: Mapping[Any, Any]) -> Iterator[Refused]:
    """Values of labels that are too long, or have other characters."""
    for key, value in pod_labels.items():
        if isinstance(value, str) and (len(value) > LONGEST or not re.fullmatch(LABEL, value)):
            why = (
                f"it has {len(value)} characters" if len(value) > LONGEST else "it has a character that is not allowed"
            )
            yield Refused((key,), f'"{value[:LONGEST]}" cannot be the value of a label: {why}', LABEL_HINT)


def field(path: str) -> str:
    """What is wrong with the path of a field; empty if nothing is."""
    allowed = path in FIELDS or re.fullmatch(KEYED, path)
    return "" if allowed else f'"{path}" is not a field of a pod that a variable can refer to'


def claim(name: str) -> str:
    """What is wrong with the name of a volume claim; empty if nothing is."""
    allowed = re.fullmatch(CLAIM, name) and len(name) <= 253
    return "" if allowed else f'"{name}" is not the name of a volume claim'


def references(spec: Mapping[str, Any]) -> Iterator[Refused]:
    """Fields and volume claims whose names are not possible, in a pod's spec of any shape."""
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(spec, key)):
            for place, entry in enumerate(items(container, "env")):
                at = ("valueFrom", "fieldRef", "fieldPath")
                path = get(entry, *at)
                if isinstance(path, str) and (wrong := field(path)):
                    yield Refused((key, number, "env", place, *at), wrong, FIELD_HINT)
    for number, volume in enumerate(items(spec, "volumes")):
        name = get(volume, "persistentVolumeClaim", "claimName")
        if isinstance(name, str) and (wrong := claim(name)):
            yield Refused(("volumes", number, "persistentVolumeClaim", "claimName"), wrong, CLAIM_HINT)


# CEL expressions: only quotes and brackets are checked (cel-spec, "Lexis").

PIECE = re.compile(
    r"""
    //[^\n]*                                                                     # a comment
    | (?<!\w)(?:[bB]?[rR]|[rR][bB])(?s:\"\"\".*?\"\"\"|'''.*?''')                # raw: without escapes
    | (?<!\w)(?:[bB]?[rR]|[rR][bB])(?:"[^"\n]*"|'[^'\n]*')
    | (?s:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?''')
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | (?P<unclosed>["'](?s:.*))
    | [()\[\]{}]
    """,
    re.VERBOSE,
)
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def fault(text: str) -> str:
    """The reason why an expression is not valid; empty if its quotes and brackets match."""
    open_: list[str] = []
    for match in PIECE.finditer(text):
        piece = match[0]
        if piece in CLOSED_BY:
            open_.append(piece)
        elif piece in CLOSED_BY.values() and (not open_ or CLOSED_BY[open_.pop()] != piece):
            return f"{piece} has no opening bracket"
        elif match["unclosed"]:
            return "a quote is never closed"
    return f"{open_[-1]} is never closed" if open_ else "" if text.strip() else "it is empty"
