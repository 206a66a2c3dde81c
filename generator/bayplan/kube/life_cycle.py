"""When other tools create, order and delete an object: annotations that the objects for a workload share with it.

Without them, a PodGroup comes after the pods that wait for it, or goes while they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bayplan.kube.objects import non_empty


def _same(value: str) -> str:
    return value


def _sooner(weight: str) -> str:
    """Helm runs hooks one by one, the lowest weight first (Helm 4.1, pkg/action/hooks.go, `execHook`)."""
    return str(int(weight or 0) - 1) if re.fullmatch(r"([-+]?[0-9]{1,9})?", weight) else "-1"


def _of_deletion(options: str) -> str:
    kept = (each.strip() for each in options.split(","))
    return ",".join(each for each in kept if each.partition("=")[0] in ("Prune", "PruneLast", "Delete"))


class LifeCycle(NamedTuple):
    """An annotation, what it decides, and how new objects take it over. `source`: the file that reads it.

    `beside`: new objects also have it, with the value for an empty one, if the workload has only this annotation.
    """

    annotation: str
    meaning: str
    source: str
    taken: Callable[[str], str] = _same
    beside: str = ""


ARGO = "Argo CD 3.5, gitops-engine/pkg/sync/common/types.go"
HELM = "Helm 4.1, pkg/release/v1/hook.go"
HELM_HOOK, ARGO_HOOK = "helm.sh/hook", "argocd.argoproj.io/hook"
LIFE_CYCLE = (
    LifeCycle("argocd.argoproj.io/sync-wave", "the wave of a sync", ARGO),
    LifeCycle(ARGO_HOOK, "the phase of a sync", ARGO),
    LifeCycle("argocd.argoproj.io/hook-delete-policy", "when Argo CD deletes a hook", ARGO),
    LifeCycle(
        "argocd.argoproj.io/sync-options",
        "whether Argo CD prunes and deletes the object: only `Prune`, `PruneLast` and `Delete`",
        ARGO,
        _of_deletion,
    ),
    LifeCycle(HELM_HOOK, "when Helm and Argo CD create a hook", HELM),
    LifeCycle("helm.sh/hook-weight", "the order of hooks: new objects get one less", HELM, _sooner, HELM_HOOK),
    LifeCycle("helm.sh/hook-delete-policy", "when Helm deletes a hook", HELM),
    LifeCycle("helm.sh/resource-policy", "whether Helm keeps the object", "Helm 4.1, pkg/kube/resource_policy.go"),
    LifeCycle("kustomize.toolkit.fluxcd.io/prune", "whether Flux prunes the object", "Flux 2.7, kustomize-controller"),
)
NAMES = frozenset(row.annotation for row in LIFE_CYCLE)


def life_cycle(annotations: Mapping[str, object]) -> dict[str, str]:
    """The annotations of objects for a workload with these annotations."""
    stated = {key: str(value) for key, value in annotations.items()}
    return non_empty(
        **{
            row.annotation: row.taken(stated.get(row.annotation, ""))
            for row in LIFE_CYCLE
            if row.annotation in stated or row.beside in stated
        }
    )


def waiting_tool(annotations: Mapping[str, object]) -> str:
    """The tool that waits for the end of a workload with these annotations, because it is a hook; empty for others."""
    phases = {phase.strip() for phase in str(annotations.get(ARGO_HOOK, "Skip")).split(",")}
    return "Argo CD" if phases != {"Skip"} else "Helm" if HELM_HOOK in annotations else ""
