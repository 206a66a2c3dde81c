"""What the replicas of a role have in common: their texts with TorchX' macros again where they differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.workflows.torchx.text.shapes import items, mappings

RANK0 = re.compile(r"\b(?:TORCHX_RANK0_HOST|(?:VC|TORCHX_MCAD)_[A-Z0-9_]+_0_HOSTS)\b")
"""The variable that holds rank 0's host, in replica 0 and in the others (TorchX 0.7 and 0.8)."""


def words(container: Mapping[str, Any]) -> list[str]:
    """The command of a container."""
    return [each for each in (*items(container, "command"), *items(container, "args")) if isinstance(each, str)]


def macros(text: str, app: str) -> str:
    """A text as an AppDef holds it: a template, with macros for the application's id and for rank 0's host."""
    escaped = RANK0.sub("${rank0_env}", text.replace("$", "$$"))
    return escaped.replace(app, "${app_id}") if app else escaped


def one(texts: Sequence[str], numbers: Sequence[int]) -> str | None:
    """The text that all replicas' are made from; None where they differ in more than their own numbers."""
    if len(set(texts)) == 1:
        return texts[0]
    pieces = [re.split(r"([0-9]+)", text) for text in texts]
    if len({len(each) for each in pieces}) > 1:
        return None
    made = []
    for spread in zip(*pieces, strict=True):
        if len(set(spread)) == 1:
            made.append(spread[0])
        elif list(spread) == [str(number) for number in numbers]:
            made.append("${replica_id}")
        else:
            return None
    return "".join(made)


def environment(container: Mapping[str, Any]) -> dict[str, str] | None:
    """The variables as a role holds them; None where one comes from elsewhere than a field of the pod."""
    found: dict[str, str] = {}
    for entry in mappings(container, "env"):
        name, source = entry.get("name"), entry.get("valueFrom")
        if not isinstance(name, str):
            return None
        if source is None:
            found[name] = str(entry.get("value") or "")
        elif isinstance(source, Mapping) and isinstance(source.get("fieldRef"), Mapping):
            found[name] = f"[FIELD_PATH]{source['fieldRef'].get('fieldPath', '')}"
        else:
            return None
    return {name: value for name, value in found.items() if name not in OWN and not RANK0.fullmatch(name)}


OWN = ("TORCHX_RANK0_HOST", "TORCHX_IMAGE")
"""Variables that TorchX' Kubernetes scheduler adds by itself."""
