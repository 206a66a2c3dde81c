"""`{{host:<task>}}` -> `hosts` of the gang: which pod a text stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.workflows.osmo import tokens
from bayplan.workflows.osmo.translate.gangs import Gang, Node


def hosts(gang: Gang) -> dict[str, str]:
    """Every way in which the gang's tasks spell the host of one of them; others' hosts stay as OSMO leaves them."""
    places = dict(_places(gang.node, ""))
    found: dict[str, str] = {}
    for text in _texts(gang.node):
        for token in tokens.find(text):
            if token.kind == tokens.HOST and token.name in places:
                found[token.text] = places[token.name]
    return dict(sorted(found.items()))


def _places(node: Node, above: str) -> Iterator[tuple[str, str]]:
    """Task -> podSet instance and the pod's number in it."""
    for pods in node.pods:
        for number, task in enumerate(pods.tasks):
            yield task.name, f"{above}{pods.name}" + (f"/{number}" if len(pods.tasks) > 1 else "")
    for each in node.nodes:
        yield from _places(each, f"{above}{each.name}-0-")


def _texts(node: Node) -> Iterator[str]:
    for pods in node.pods:
        yield from _below({key: pods.piece.data.get(key) for key in ("command", "args", "env", "files")})
    for each in node.nodes:
        yield from _texts(each)


def _below(value: Any) -> Iterator[str]:
    return (text for text, _ in tokens.texts(value, ()))
