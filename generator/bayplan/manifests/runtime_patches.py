"""TrainJobs that change the pods of their runtime, with the field that their version of Trainer has for this.

Trainer applies a change as a strategic merge: it merges mappings and replaces lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.core.phrases import listing
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL, WORKFLOW_LABEL, jobset
from bayplan.kube.kinds.trainjob import NODE, STEP
from bayplan.kube.objects import get, items, mapping, non_empty, put, text, title
from bayplan.kube.workloads.training import MANAGER, OVERRIDES, PATCHES
from bayplan.model.manifest import Item, Manifest
from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.model.target import Target

if TYPE_CHECKING:
    from bayplan.manifests.inject import Injected
    from bayplan.model.augment import Path, WorkloadTemplates

PATCH = str(PATCHES[-1])
FIELDS = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
"""Fields of a pod's spec that a placement needs."""

OLDEST = (*FIELDS[:1], *FIELDS[2:], "serviceAccountName", "volumes")
OLDER = (*OLDEST, "affinity", "imagePullSecrets")
OLD = (*OLDER, "securityContext")


OWN_LABELS = frozenset({WORKFLOW_LABEL, GANG_LABEL, GROUP_LABEL, POD_SET_LABEL})
"""Labels by which people find pods. Only `affinity` and Services for clients select them."""


class Form(NamedTuple):
    """What a TrainJob of one version can change: fields of the pod's spec and of its container, and whether labels and
    annotations of Pods and Jobs."""

    key: str
    spec: tuple[str, ...]
    container: tuple[str, ...] = ("volumeMounts",)
    pod_metadata: bool = True
    job_metadata: bool = False
    deadline: bool = False


PATCHING = Form(PATCH, OLD, ("volumeMounts", "securityContext"), job_metadata=True, deadline=True)
FORMS: Mapping[str, Form] = {
    "2.3": PATCHING._replace(spec=(*OLD, "terminationGracePeriodSeconds")),
    "2.2": PATCHING,
    "2.1": Form("podTemplateOverrides", OLDER),
    "2.0": Form("podSpecOverrides", OLDEST, pod_metadata=False),
}
"""The version since which a form holds -> the form (Trainer v2.0.0, v2.1.0, v2.2.0 and v2.3.0,
pkg/apis/trainer/v1alpha1/trainjob_types.go)."""


def form_of(target: Target) -> Form:
    """What the target's version of Trainer lets a TrainJob change."""
    return next((each for since, each in FORMS.items() if target.since("trainer", since)), FORMS["2.0"])


def _changes(form: Form, jobs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries of the field: the name of a replicatedJob -> what changes in its Job template."""
    if form.key == PATCH:
        parts = [{"name": name, "template": template} for name, template in jobs.items()]
        patch = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": parts}}}}
        return [patch] if parts else []
    inside = ("spec", "template") if form.pod_metadata else ("spec", "template", "spec")
    pods = {name: mapping(template, *inside) for name, template in jobs.items()}
    return [{"targetJobs": [{"name": name}], **pod} for name, pod in pods.items() if pod]


def other_forms(templates: WorkloadTemplates, target: Target) -> Iterator[Diagnostic]:
    """W508: changes that are not in the field of the target's version, whose API server would drop them."""
    own = form_of(target).key
    for key in (PATCH, *OVERRIDES):
        if key != own and get(templates.placed.data, "spec", key):
            message = f"{title(templates.placed)} has `{key}`, but {target.title('trainer')} reads only `{own}`"
            hint = f"write these changes as `{own}`, or set the version of Trainer that the cluster has"
            yield error("W508", (*templates.placed.route, "spec", key), message, hint=hint)


def patched(
    templates: WorkloadTemplates, injected: tuple[Injected, ...], target: Target
) -> tuple[Injected, tuple[Diagnostic, ...]]:
    """The TrainJob with changes of its own instead of a changed runtime. W508: a mark that they cannot set."""
    form, jobs, wrong = form_of(target), dict[str, dict[str, Any]](), list[Diagnostic]()
    placed, runtime = injected
    for slot in templates.slots:
        job, pod = slot.job or (), slot.path
        before, after = runtime.object.data, runtime.data
        meta = _metadata(get(before, *job), get(after, *job))
        inside = _metadata(get(before, *pod), get(after, *pod))
        changed = _changed(before, after, (*pod, "spec"))
        spec = {key: each for key, each in changed.items() if key in FIELDS and key in form.spec}
        marks = (*_keys(meta, form.job_metadata), *_keys(inside, form.pod_metadata, OWN_LABELS))
        wrong += _lost(templates, slot.path, before, after, form, marks)
        template = {**meta, **non_empty(spec=non_empty(template={**inside, **non_empty(spec=spec)}))}
        if template:
            jobs[text(after, *job[:-1], "name")] = template
    path = ("spec", form.key)
    others = [each for each in items(placed.object.data, *path) if text(each, "manager") != MANAGER]
    changes = _changes(form, jobs)
    every = [*others, *changes] if form.pod_metadata else list(_joined(others, changes))
    data = put(placed.data, path, every) if changes else placed.data
    return placed._replace(data=data), tuple(dict.fromkeys(wrong))


def _keys(metadata: Mapping[str, Any], carried: bool, unneeded: frozenset[str] = frozenset()) -> Iterator[str]:
    """The labels and annotations that no change can set."""
    for each in () if carried else mapping(metadata, "metadata").values():
        yield from (key for key in each if key not in unneeded)


def _joined(theirs: Iterable[Any], ours: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """One entry for each replicatedJob: Trainer 2.0 refuses two (v2.0.0, plugins/jobset/jobset.go)."""
    names = {text(each, "targetJobs", 0, "name"): each for each in ours}
    for each in theirs:
        targets = items(each, "targetJobs")
        if left := [target for target in targets if text(target, "name") not in names]:
            yield {**each, "targetJobs": left}
        for name in names.keys() & {text(target, "name") for target in targets}:
            both = {key: {**get(each, key), **value} for key, value in names[name].items() if mapping(each, key)}
            names[name] = {**each, **names[name], **both}
    yield from names.values()


def _metadata(before: Any, after: Any) -> dict[str, Any]:
    """The new labels and annotations."""
    changed = {key: _changed(before, after, ("metadata", key)) for key in ("labels", "annotations")}
    return non_empty(metadata=non_empty(**changed))


def _changed(before: Any, after: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
    """The keys of a mapping with other values than before."""
    old, new = mapping(before, *path), mapping(after, *path)
    return {key: value for key, value in new.items() if old.get(key) != value}


def _lost(
    templates: WorkloadTemplates, pod: Path, before: Any, after: Any, form: Form, more: Iterable[str]
) -> Iterator[Diagnostic]:
    """W508: what no change can express: other fields of the pod, `more`, and labels and annotations to remove."""
    old, new = mapping(before, *pod, "spec"), mapping(after, *pod, "spec")
    changed = _changed(before, after, (*pod, "spec"))
    gone = [*(key for key in changed if key not in FIELDS or key not in form.spec), *(old.keys() - new.keys()), *more]
    for kind in ("labels", "annotations"):
        gone += mapping(before, *pod, "metadata", kind).keys() - mapping(after, *pod, "metadata", kind).keys()
    for key in sorted(gone):
        message = f"the placement changes `{key}` of the pods of {title(templates.placed)}, which `{form.key}` cannot"
        hint = "give the TrainJob a TrainingRuntime of its own without patches, which bayplan can change"
        yield error("W508", (*templates.placed.route, "spec", "runtimeRef"), message, hint=hint)


# TrainJobs that bayplan writes, for a runtime that others wrote (`trainer`).

RUNTIME_HAS = ("restartPolicy", "containers")
"""Fields that each runtime has already."""

OF_JOB = ("parallelism", "completions", "completionMode", "backoffLimit", "template")
"""Fields of the Job that Trainer sets, or that each runtime has."""

DEADLINE = "activeDeadlineSeconds"
Lost = list[str]


def refer(plan: Plan, documents: Iterable[Item], target: Target) -> tuple[list[Item], list[Diagnostic]]:
    """The documents with changes in place of the runtimes of gangs that name one, and without fields that older
    TrainJobs lack. F782: what no change can set; F689: what the runtime must have."""
    jobs = {gang.name: gang for gang in plan.gangs}
    form, kept, found = form_of(target), list[Item](), list[Diagnostic]()
    parts: dict[str, Part] = {}
    for one in documents:
        gang = jobs.get(text(one, "metadata", "name")) if isinstance(one, Mapping) else None
        if gang is None or not isinstance(one, Mapping) or text(one, "kind") not in ("TrainingRuntime", "TrainJob"):
            kept.append(one)
        elif text(one, "kind") == "TrainJob":
            job = _referring(one, gang, parts[gang.name], form) if gang.gang.trainer else one
            spec = {key: value for key, value in job["spec"].items() if form.deadline or key != DEADLINE}
            kept.append({**job, "spec": spec})
        elif gang.gang.trainer:
            parts[gang.name] = _part(one, form, frozenset() if gang.gang.service else OWN_LABELS)
            late = [] if form.deadline or gang.gang.active_deadline_seconds is None else [DEADLINE]
            found += _judged(gang, [*parts[gang.name].lost, *late], target)
        else:
            kept.append(one if form.deadline else _limited(one, gang.gang.active_deadline_seconds))
    return kept, found


def _limited(runtime: Manifest, seconds: int | None) -> Any:
    """The runtime whose Job has the deadline, as in a JobSet: TrainJobs have one since Trainer 2.2."""
    if seconds is None:
        return runtime
    path: Path = ("spec", "template", "spec")
    limited: Any = put(runtime, (*path, "replicatedJobs", 0, "template", "spec", DEADLINE), seconds)
    if not get(runtime, *path, "failurePolicy"):
        return limited
    rules = [jobset.DEADLINE_RULE, *items(runtime, *path, "failurePolicy", "rules")]
    return put(limited, (*path, "failurePolicy", "rules"), rules)


def _referring(job: Manifest, gang: GangPlan, part: Part, form: Form) -> Manifest:
    named = gang.gang.trainer
    reference = {**job["spec"]["runtimeRef"], "kind": named.kind, "name": named.runtime} if named else {}
    trainer = {**job["spec"]["trainer"], **non_empty(resourcesPerNode=part.resources)}
    changes = _changes(form, {NODE: part.template} if part.template else {})
    spec = {**job["spec"], "runtimeRef": reference, "trainer": trainer}
    return {**job, "spec": {**spec, **non_empty(**{form.key: changes})}}


class Part(NamedTuple):
    """What changes in the Job template of a runtime, the resources of its container, and the fields of neither."""

    template: dict[str, Any]
    resources: dict[str, Any]
    lost: Lost


def _part(runtime: Manifest, form: Form, unneeded: frozenset[str]) -> Part:
    spec = runtime["spec"]["template"]["spec"]
    (job,) = spec["replicatedJobs"]
    pod = job["template"]["spec"]["template"]
    (main, *others) = pod["spec"]["containers"]
    resources = main.get("resources", {})
    own = mapping(job, "template", "metadata")
    labels = {key: value for key, value in mapping(own, "labels").items() if key not in STEP}
    metadata = non_empty(metadata=non_empty(labels=labels, annotations=own.get("annotations")))
    inside = non_empty(metadata=pod.get("metadata"))
    lost = [
        *(key for key in spec if key not in ("network", "replicatedJobs")),
        *(key for key in job["template"]["spec"] if key not in OF_JOB),
        *(key for key in pod["spec"] if key not in (*form.spec, *RUNTIME_HAS)),
        *(f"containers: {each['name']}" for each in others),
        *(key for key in main if key not in (*form.container, "name", "image", "resources")),
        *(["resources: claims"] if "claims" in resources else []),
        *_keys(metadata, form.job_metadata),
        *_keys(inside, form.pod_metadata, unneeded),
    ]
    container = {key: main[key] for key in form.container if key in main}
    fields = {key: pod["spec"][key] for key in form.spec if key in pod["spec"]}
    fields |= {"containers": [{"name": NODE, **container}]} if container else {}
    limited = {key: value for key, value in resources.items() if key != "claims"}
    template = {**metadata, **non_empty(spec=non_empty(template={**inside, **non_empty(spec=fields)}))}
    return Part(template, limited, lost)


def _asked(gang: GangPlan, key: str) -> tuple[str, ...]:
    """The fields of the workflow that make a field of a JobSet or a Job; other fields have the name that users know."""
    pods = [each.spec for each in all_pods(gang.root)]
    own = {
        "maxRestarts": key == "failurePolicy" and gang.gang.max_restarts,
        "retryOnExitCodes": key == "podFailurePolicy" and any(each.retry_on_exit_codes for each in pods),
        "restartGangOnExitCodes": key.endswith("ailurePolicy")
        and any(each.restart_gang_on_exit_codes for each in pods),
    }
    return tuple(field for field, asked in own.items() if asked) or (key,)


def _judged(gang: GangPlan, lost: Lost, target: Target) -> Iterator[Diagnostic]:
    named = gang.gang.trainer
    if named is None:
        return
    at, what = (*gang.route, "trainer", "runtime"), f'{named.kind} "{named.runtime}"'
    if lost:
        fields = listing(dict.fromkeys(field for key in lost for field in _asked(gang, key)), "and", 8)
        message = f"a TrainJob of {target.title('trainer')} cannot set {fields} in {what}"
        hint = "remove `trainer`, so that bayplan writes a TrainingRuntime, or remove what needs these fields"
        yield error("F782", at, message, hint=hint)
        return
    message = f"bayplan assumes that {what} has the replicatedJob `{NODE}`, with a container of that name"
    message += " and no `podGroupPolicy`"
    message += "" if form_of(target).pod_metadata else "; its pods have no labels that name the workflow and the gang"
    hint = f"ignore this if it has: kubectl get {named.kind.lower()} {named.runtime} -o yaml"
    yield info("F689", at, message, hint=hint)
