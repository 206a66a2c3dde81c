"""TrainJobs whose runtime others use too: a patch of their own in `spec.runtimePatches`.

A patch can set labels, annotations and a few fields of the pods (Trainer 2.2, CRD `trainjobs.trainer.kubeflow.org`).
Trainer applies it as a strategic merge: it merges mappings and replaces lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.core.phrases import listing
from bayplan.kube.kinds.trainjob import NODE, STEP
from bayplan.kube.objects import get, items, mapping, non_empty, put, text, title
from bayplan.kube.workloads.training import MANAGER, PATCHES
from bayplan.model.manifest import Item, Manifest
from bayplan.model.plan import GangPlan, Plan
from bayplan.model.target import Target

if TYPE_CHECKING:
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


# TrainJobs that bayplan writes, for a runtime that others wrote (`trainer`).

PATCHED = (*FIELDS, "serviceAccountName", "volumes", "imagePullSecrets", "securityContext")
"""Fields of a pod's spec that a patch can set. A placement needs some of them."""

SINCE_2_3 = ("terminationGracePeriodSeconds",)
RUNTIME_HAS = ("restartPolicy", "containers")
"""Fields that each runtime has already."""

OF_CONTAINER = ("volumeMounts", "securityContext")
"""Fields of the container that a patch can set. The TrainJob itself has `resources`."""

OF_JOB = ("parallelism", "completions", "completionMode", "backoffLimit", "template")
"""Fields of the Job that Trainer sets, or that each runtime has."""

Lost = list[str]


def refer(plan: Plan, documents: Iterable[Item], target: Target) -> tuple[list[Item], list[Diagnostic]]:
    """The documents with patches in place of the runtimes of gangs that name one. F782: what no patch can set; F784:
    what the runtime must have."""
    referring = {gang.name: gang for gang in plan.gangs if gang.gang.trainer}
    kept: list[Item] = []
    found: list[Diagnostic] = []
    patches: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for one in documents:
        name = text(one, "metadata", "name") if isinstance(one, Mapping) else ""
        kind = text(one, "kind") if name in referring else ""
        if kind == "TrainingRuntime" and isinstance(one, Mapping):
            template, resources, lost = _patch(one, target)
            patches[name] = template, resources
            found += _judged(referring[name], lost)
        elif kind == "TrainJob" and isinstance(one, Mapping):
            kept.append(_referring(one, referring[name], *patches[name]))
        else:
            kept.append(one)
    return kept, found


def _referring(job: Manifest, gang: GangPlan, template: Mapping[str, Any], resources: Mapping[str, Any]) -> Manifest:
    named = gang.gang.trainer
    reference = {**job["spec"]["runtimeRef"], "kind": named.kind, "name": named.runtime} if named else {}
    trainer = {**job["spec"]["trainer"], **non_empty(resourcesPerNode=resources)}
    jobs = [{"name": NODE, "template": template}]
    patch = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    spec = {**job["spec"], "runtimeRef": reference, "trainer": trainer}
    return {**job, "spec": {**spec, **({"runtimePatches": [patch]} if template else {})}}


def _patch(runtime: Manifest, target: Target) -> tuple[dict[str, Any], dict[str, Any], Lost]:
    """The patch of the Job template, the resources of the container, and the fields that neither can hold."""
    jobset = runtime["spec"]["template"]["spec"]
    (job,) = jobset["replicatedJobs"]
    pod = job["template"]["spec"]["template"]
    (main, *others) = pod["spec"]["containers"]
    allowed = (*PATCHED, *(SINCE_2_3 if target.since("trainer", "2.3") else ()))
    resources = main.get("resources", {})
    lost = [
        *(key for key in jobset if key not in ("network", "replicatedJobs")),
        *(key for key in job["template"]["spec"] if key not in OF_JOB),
        *(key for key in pod["spec"] if key not in (*allowed, *RUNTIME_HAS)),
        *(f"containers: {each['name']}" for each in others),
        *(key for key in main if key not in (*OF_CONTAINER, "name", "image", "resources")),
        *(["resources: claims"] if "claims" in resources else []),
    ]
    container = {key: main[key] for key in OF_CONTAINER if key in main}
    spec = {key: pod["spec"][key] for key in allowed if key in pod["spec"]}
    spec |= {"containers": [{"name": NODE, **container}]} if container else {}
    own = mapping(job, "template", "metadata")
    labels = {key: value for key, value in mapping(own, "labels").items() if key not in STEP}
    metadata = non_empty(labels=labels, annotations=own.get("annotations"))
    inside = {**non_empty(metadata=pod.get("metadata")), **non_empty(spec=spec)}
    limited = {key: value for key, value in resources.items() if key != "claims"}
    return non_empty(metadata=metadata, spec=non_empty(template=inside)), limited, lost


def _judged(gang: GangPlan, lost: Lost) -> Iterator[Diagnostic]:
    named = gang.gang.trainer
    if named is None:
        return
    at, what = (*gang.route, "trainer", "runtime"), f'{named.kind} "{named.runtime}"'
    if lost:
        fields = listing(list(dict.fromkeys(lost)), "and", 8)
        message = f'the TrainJob of gang "{gang.gang.name}" cannot set {fields} in {what}'
        hint = "remove `trainer`, so that bayplan writes a TrainingRuntime, or remove what needs these fields"
        yield error("F782", at, message, hint=hint)
        return
    message = f"bayplan assumes that {what} has the replicatedJob `{NODE}`, with a container of that name"
    message += " and no `podGroupPolicy`"
    hint = f"ignore this if it has: kubectl get {named.kind.lower()} {named.runtime} -o yaml"
    yield info("F784", at, message, hint=hint)
