"""Judges of Kubernetes objects, independent of the generator: they know upstream's schemas and rules, not bayplan.

A judge returns complaints as text; none means that an API server of those versions would take the object. `target` maps
a component to its version: `{"kubernetes": "1.34", "kai": "0.15", "draDriver": "25.8", "jobset": "0.10"}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from judges import (
    builtin,
    crd,
    cross,
    grove,
    jobset,
    kai,
    koordinator,
    kueue,
    native,
    network_operator,
    pods,
    slurm_pods,
    syntax,
    volcano,
)
from judges.versions import UPSTREAM, at_least, targets_for, versions_for

__all__ = ["UPSTREAM", "at_least", "judge", "judge_all", "targets_for", "versions_for"]

Document = Mapping[str, Any]
Target = Mapping[str, str]
Judge = Callable[[Document, Target], Iterable[str]]

SCHEMAS: tuple[tuple[Callable[[Document], bool], Judge], ...] = (
    (koordinator.knows, koordinator.schema),
    (slurm_pods.borrowed, lambda document, _: slurm_pods.pod_group(document)),
    (builtin.knows, builtin.judge),
    (lambda _: True, crd.judge),
)
"""Whose object it is -> who says what may stand in it; the first counts."""

RULES: tuple[Judge, ...] = (
    lambda document, _: syntax.judge(document),
    lambda document, _: pods.judge(document),
    lambda document, _: grove.judge(document),
    lambda document, _: jobset.judge(document),
    kai.judge,
    koordinator.judge,
    kueue.judge,
    native.judge,
    lambda document, _: network_operator.judge(document),
    lambda document, _: slurm_pods.judge(document),
    lambda document, _: volcano.judge(document),
)
"""What webhooks and schedulers ask of one object."""

TOGETHER: tuple[Callable[[list[Document], Target], Iterable[str]], ...] = (
    cross.judge,
    lambda documents, _: grove.cross(documents),
    lambda documents, _: koordinator.members(documents),
    kueue.judge_all,
    lambda documents, _: native.together(documents),
)
"""What they ask of objects that belong together."""


class Asked(Mapping[str, str]):
    """A target that records which of its versions were looked up."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.versions: dict[str, str | None] = {}

    def __getitem__(self, component: str) -> str:
        self.versions[component] = self.target.get(component)
        return self.target[component]

    def __iter__(self) -> Iterator[str]:
        return iter(self.target)

    def __len__(self) -> int:
        return len(self.target)


VERDICTS: dict[str, list[tuple[dict[str, str | None], list[str]]]] = {}
"""Object, as Python writes it -> the versions that a judgement looked up, and its complaints."""


def judge(document: Document, target: Target) -> list[str]:
    """Everything that an API server with those components would refuse about one object.

    An object is judged once for all targets that agree in the versions that matter to it.
    """
    known = VERDICTS.setdefault(repr(document), [])
    for versions, complaints in known:
        if all(target.get(component) == version for component, version in versions.items()):
            return complaints.copy()
    asked = Asked(target)
    found = _judge(document, asked)
    known.append((asked.versions, found))
    return found.copy()


def _judge(document: Document, target: Target) -> list[str]:
    early = syntax.envelope(document)
    if early:
        return early
    schema = next(each for knows, each in SCHEMAS if knows(document))
    complaints = [complaint for each in (schema, *RULES) for complaint in each(document, target)]
    return [f"{name(document)}: {complaint}" for complaint in complaints]


def judge_all(documents: Iterable[Document], target: Target) -> list[str]:
    """The complaints about each object, then those about objects that do not fit together."""
    listed = list(documents)
    single = [complaint for document in listed for complaint in judge(document, target)]
    return single or [complaint for each in TOGETHER for complaint in each(listed, target)]


def name(document: Document) -> str:
    """`kind namespace/name`, for messages."""
    metadata = document.get("metadata") or {}
    return f"{document.get('kind')} {metadata.get('namespace', '-')}/{metadata.get('name')}"
