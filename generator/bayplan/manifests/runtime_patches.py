"""The marks of a TrainJob whose runtime others use too: a patch of its own in `spec.runtimePatches`.

A patch can set labels, annotations and a few fields of the pods (Trainer 2.2, CRD `trainjobs.trainer.kubeflow.org`).
Trainer applies it as a strategic merge: it merges mappings and replaces lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import Diagnostic, error
from bayplan.kube.objects import get, items, mapping, non_empty, put, text, title
from bayplan.kube.workloads.training import MANAGER, PATCHES
from bayplan.manifests.inject import Injected
from bayplan.model.augment import WorkloadTemplates

FIELDS = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
"""Fields of a pod's spec that a patch can set and a placement needs."""


def patched(
    templates: WorkloadTemplates, placed: Injected, runtime: Injected
) -> tuple[Injected, tuple[Diagnostic, ...]]:
    """The TrainJob with the patch instead of a changed runtime. W508: a mark that a patch cannot set."""
    jobs, wrong = [], list[Diagnostic]()
    for slot in templates.slots:
        job, pod = slot.job or (), slot.path
        before, after = runtime.object.data, runtime.data
        meta = _metadata(get(before, *job), get(after, *job))
        inside = _metadata(get(before, *pod), get(after, *pod))
        spec = {key: each for key, each in _changes(before, after, (*pod, "spec")).items() if key in FIELDS}
        wrong += _lost(templates, slot.path, before, after)
        template = {**meta, **non_empty(spec=non_empty(template={**inside, **non_empty(spec=spec)}))}
        jobs += [{"name": text(after, *job[:-1], "name"), "template": template}] if template else []
    patch = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    others = [each for each in items(placed.object.data, *PATCHES) if text(each, "manager") != MANAGER]
    data = put(placed.data, PATCHES, [*others, *([patch] if jobs else [])])
    return placed._replace(data=data), tuple(dict.fromkeys(wrong))


def _metadata(before: Any, after: Any) -> dict[str, Any]:
    """The new labels and annotations."""
    changed = {key: _changes(before, after, ("metadata", key)) for key in ("labels", "annotations")}
    return non_empty(metadata=non_empty(**changed))


def _changes(before: Any, after: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
    """The keys of a mapping with other values than before."""
    old, new = mapping(before, *path), mapping(after, *path)
    return {key: value for key, value in new.items() if old.get(key) != value}


def _lost(templates: WorkloadTemplates, pod: tuple[str | int, ...], before: Any, after: Any) -> Iterator[Diagnostic]:
    """Changes that no patch can express: other fields of the pod, and labels and annotations to remove."""
    old, new = mapping(before, *pod, "spec"), mapping(after, *pod, "spec")
    gone = [*(key for key in _changes(before, after, (*pod, "spec")) if key not in FIELDS), *(old.keys() - new.keys())]
    for kind in ("labels", "annotations"):
        gone += mapping(before, *pod, "metadata", kind).keys() - mapping(after, *pod, "metadata", kind).keys()
    yield from (_error(templates, key) for key in sorted(gone))


def _error(templates: WorkloadTemplates, key: str) -> Diagnostic:
    """W508."""
    message = f"the placement changes `{key}` of the pods of {title(templates.placed)}, which `runtimePatches` cannot"
    hint = "give the TrainJob a TrainingRuntime of its own without patches, which bayplan can change"
    return error("W508", (*templates.placed.route, "spec", "runtimeRef"), message, hint=hint)
