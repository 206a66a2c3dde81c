"""Annotations that Helm reads and no cluster needs: objects are judged without them, and keep them.

Helm 4 says in one which template a document comes from (Helm 4.1, pkg/action, `annotateAndMerge`), and takes it off
again. Objects that are made for a hook are hooks themselves: else they would come after what needs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bayplan.kube.safe import mapping, text, without_annotations

FILE = "postrenderer.helm.sh/postrender-filename"
"""Helm 4's annotation."""

HOOK = ("helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy")
"""Annotations of hooks. Helm runs those of one kind by weight, the lightest first (pkg/action/hooks.go, `execHook`)."""

COMPANIONS = ("ComputeDomain", "PodGroup", "ResourceClaimTemplate")
"""Kinds of objects that are made for workloads."""


def bare(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object without what is for Helm alone."""
    return without_annotations(data, for_helm(data))


def for_helm(data: Any) -> dict[str, Any]:
    """Those of an object: its template, and on an object that was made for a hook also what makes it one."""
    annotations = mapping(data, "metadata", "annotations")
    names = (FILE, *HOOK) if text(data, "kind") in COMPANIONS else (FILE,)
    return {name: annotations[name] for name in names if name in annotations}


def dressed(data: Mapping[str, Any], extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with such annotations."""
    if not extra:
        return data
    metadata = data.get("metadata") or {}
    return {**data, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **extra}}}


def template_of(data: Any) -> str:
    """The template that an object comes from, if Helm 4 says so."""
    return text(data, "metadata", "annotations", FILE)


def of_workload(workload: Any, document: Any) -> dict[str, str]:
    """What goes on the objects that are made for a workload: its template; a hook's are hooks, and run before it."""
    template = template_of(workload) or template_of(document)
    annotations = mapping(workload, "metadata", "annotations")
    found = {FILE: template} if template else {}
    if HOOK[0] not in annotations:
        return found
    weight = str(annotations.get(HOOK[1], 0))
    sooner = str(int(weight) - 1) if re.fullmatch(r"[-+]?[0-9]{1,9}", weight) else "-1"
    given = {name: str(annotations[name]) for name in HOOK if name in annotations}
    return {**found, **given, HOOK[1]: sooner}
