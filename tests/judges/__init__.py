"""Judges of Kubernetes objects, independent of the generator: they know upstream's schemas and rules, not bayplan.

A judge returns complaints as text; none means that an API server of those versions would take the object. `target` maps
a component to its version: `{"kubernetes": "1.34", "kai": "0.15", "draDriver": "25.8", "jobset": "0.10"}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judges import builtin, crd, cross, jobset, kai, kueue, pods, syntax
from judges.versions import UPSTREAM, at_least, targets_for, versions_for

__all__ = ["UPSTREAM", "at_least", "judge", "judge_all", "targets_for", "versions_for"]

Document = Mapping[str, Any]
Target = Mapping[str, str]


def judge(document: Document, target: Target) -> list[str]:
    """Everything that an API server with those components would refuse about one object."""
    early = syntax.envelope(document)
    if early:
        return early
    schema = builtin if builtin.knows(document) else crd
    complaints = [
        *schema.judge(document, target),
        *syntax.judge(document),
        *pods.judge(document),
        *jobset.judge(document),
        *kai.judge(document, target),
        *kueue.judge(document, target),
    ]
    return [f"{name(document)}: {complaint}" for complaint in complaints]


def judge_all(documents: Iterable[Document], target: Target) -> list[str]:
    """The complaints about each object, then those about objects that do not fit together."""
    listed = list(documents)
    single = [complaint for document in listed for complaint in judge(document, target)]
    return single or [*cross.judge(listed, target), *kueue.judge_all(listed, target)]


def name(document: Document) -> str:
    """`kind namespace/name`, for messages."""
    metadata = document.get("metadata") or {}
    return f"{document.get('kind')} {metadata.get('namespace', '-')}/{metadata.get('name')}"
