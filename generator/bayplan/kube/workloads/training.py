"""PyTorchJob and MPIJob (kubeflow.org): a podSet for each replica type, with its name in lower case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, error, info, warning
from bayplan.kube.cards import meets
from bayplan.kube.objects import get, group, items, kind, mapping, name, namespace, number_in, put, text, title
from bayplan.kube.workloads import kubernetes, start_order
from bayplan.kube.workloads.parts import GROWS, Objects, Slots, fewer, late, numbered, slot, templates, unknown
from bayplan.model.augment import Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Object

FIRST = ("master", "launcher")
"""Replica types whose pods have the first ranks."""


def pytorch_job(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """`master` and `worker`."""
    slots = tuple(_replica_slots(one, "pytorchReplicaSpecs"))
    return templates("pytorchjob", one, slots, _elastic(one, slots))


def mpi_job(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """`launcher` and `worker`. A launcher that starts when all workers are ready is not in their gang (W506)."""
    slots = tuple(_replica_slots(one, "mpiReplicaSpecs"))
    if text(one.data, "spec", "launcherCreationPolicy") != "WaitForWorkersReady":
        return templates("mpijob", one, slots, _elastic(one, slots))
    workers = [each for each in slots if not (isinstance(each, TemplateSlot) and each.name == "launcher")]
    message = f"the launcher of {title(one)} starts when all workers are ready, so the gang has only the workers"
    hint = "set `launcherCreationPolicy: AtStartup` to place the launcher with them"
    late = info("W506", (*one.route, "spec", "launcherCreationPolicy"), message, hint=hint)
    return templates("mpijob", one, workers, (late, *_elastic(one, workers)))


def _replica_slots(one: Object, key: str) -> Iterator[TemplateSlot | Diagnostic]:
    """Upper and lower case do not matter in keys (training-operator 1.9, `setTypeNamesToCamelCase`)."""
    types = [each for each in mapping(one.data, "spec", key) if isinstance(each, str)]
    for each in sorted(types, key=lambda each: (each.lower() not in FIRST, each.lower())):
        template_slot = slot(one, each.lower(), ("spec", key, each, "template"))
        # a launcher that is also a worker has the number 0, and the workers follow
        yield numbered(template_slot, get(one.data, "spec", "runLauncherAsWorker") is not True)


def _elastic(one: Object, slots: Slots) -> Iterator[Diagnostic]:
    """W506."""
    if get(one.data, "spec", "elasticPolicy"):
        message = f"{title(one)} is elastic, but bayplan plans exactly its `replicas`, as one gang"
        yield warning("W506", (*one.route, "spec", "elasticPolicy"), message, hint=GROWS)
    yield from fewer(one, ("spec", "runPolicy", "schedulingPolicy", "minAvailable"), slots)


# RayCluster and RayJob (ray.io): the head, and a podSet for each worker group.


def ray_cluster(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """`head`, and the worker groups by their names."""
    return templates("raycluster", one, _ray_slots(one, ("spec",)), _scaled(one, ("spec",)))


def ray_job(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets of its own cluster. The pod that submits the job is not in the gang."""
    spec: Path = ("spec", "rayClusterSpec")
    if get(one.data, "spec", "clusterSelector"):
        message = f"{title(one)} runs in an existing RayCluster and has no pods of its own to place"
        route = (*one.route, "spec", "clusterSelector")
        hint = "remove the placement here, and place that RayCluster"
        return Outcome(None, (error("W641", route, message, hint=hint),))
    return templates("rayjob", one, _ray_slots(one, spec), _scaled(one, spec))


def _ray_slots(one: Object, spec: Path) -> Iterator[TemplateSlot | Diagnostic]:
    yield slot(one, "head", (*spec, "headGroupSpec", "template"))
    for index, each in enumerate(items(one.data, *spec, "workerGroupSpecs")):
        yield slot(one, text(each, "groupName"), (*spec, "workerGroupSpecs", index, "template"))


def _scaled(one: Object, spec: Path) -> Iterator[Diagnostic]:
    """W506: Ray's autoscaler changes the number of workers, or users may."""
    if get(one.data, *spec, "enableInTreeAutoscaling") is True:
        message = f"Ray scales {title(one)} at run time, but bayplan plans exactly the `replicas` of its worker groups"
        yield warning("W506", (*one.route, *spec, "enableInTreeAutoscaling"), message, hint=GROWS)
        return
    for index, each in enumerate(items(one.data, *spec, "workerGroupSpecs")):
        least, replicas = number_in(each, "minReplicas"), number_in(each, "replicas")
        if least is not None and replicas is not None and least < replicas:
            message = (
                f'worker group "{text(each, "groupName")}" may shrink to {least}, but bayplan plans all {replicas}'
            )
            yield info("W506", (*one.route, *spec, "workerGroupSpecs", index, "minReplicas"), message)


# TrainJob (trainer.kubeflow.org): its pod templates are in the runtime that it names.

GROUP = "trainer.kubeflow.org"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
SPEC: Path = ("spec", "template", "spec")
PATCHES: Path = ("spec", "runtimePatches")
RESOURCES: Path = ("spec", "trainer", "resourcesPerNode")
OVERRIDES = ("podTemplateOverrides", "podSpecOverrides")
"""Fields that change the pods of one TrainJob: since Trainer 2.2, and in 2.1 and 2.0."""

MANAGER = "bayplan.dev/placement"
"""The manager of the patch that bayplan writes."""

ASKED: Path = ("spec", "trainer", "numNodes")
OFFERED: Path = ("spec", "mlPolicy", "numNodes")
GROUPED: Path = ("spec", "podGroupPolicy")
SCHEDULERS = {"volcano": "volcano", "coscheduling": "scheduler-plugins"}
"""Key of `podGroupPolicy` -> the scheduler of the PodGroup that Trainer makes."""

MPI: Path = ("spec", "mlPolicy", "mpi")


def train_job(one: Object, objects: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets of the runtime, which has the templates. W508: the runtime is missing.

    If other TrainJobs may use the runtime too, or the TrainJob changes it, the marks become changes of the TrainJob.
    """
    runtime = next((each for each in objects if _is_runtime(each, one)), None)
    if runtime is None:
        called, what = _reference(one)
        message = f'{title(one)} gets its pods from {called} "{what}", which is not among the manifests'
        hint = "add the runtime to the manifests, or use a JobSet"
        return Outcome(None, (error("W508", (*one.route, "spec", "runtimeRef"), message, hint=hint),))
    changing = (PATCHES, RESOURCES, *(("spec", key) for key in OVERRIDES))
    patched = _shared(one, runtime, objects) or any(get(one.data, *path) for path in changing)
    runtime = runtime._replace(data=_with_changes(one, runtime)) if patched else runtime
    slots = [_counted(each, one, runtime) for each in kubernetes.slots(runtime, SPEC)]
    policies = mapping(runtime.data, *GROUPED)
    made = next((scheduler for key, scheduler in SCHEDULERS.items() if key in policies), "")
    return templates("trainjob", runtime, slots, workload=one, patched=patched, made=made)


def _reference(one: Object) -> tuple[str, str]:
    """Kind and name, as the API server completes them."""
    kind_name = text(one.data, "spec", "runtimeRef", "kind")
    return kind_name or "ClusterTrainingRuntime", text(one.data, "spec", "runtimeRef", "name")


def _is_runtime(each: Object, one: Object) -> bool:
    if group(each) != GROUP or (kind(each), name(each)) != _reference(one):
        return False
    return kind(each) == "ClusterTrainingRuntime" or meets(namespace(each), namespace(one))


def _shared(one: Object, runtime: Object, objects: Objects) -> bool:
    """Whether a change of the runtime would apply to other TrainJobs as well."""
    jobs = (each for each in objects if (group(each), kind(each)) == (GROUP, "TrainJob") and each.route != one.route)
    return kind(runtime) == "ClusterTrainingRuntime" or any(_is_runtime(runtime, each) for each in jobs)


def _with_changes(one: Object, runtime: Object) -> Any:
    """The runtime with the resources of the trainer's container, and with the patches that others own: Trainer merges
    mappings, and replaces lists (Trainer v2.0.0 to v2.3.0, pkg/runtime/core/trainingruntime.go)."""
    data: Any = runtime.data
    resources = get(one.data, *RESOURCES)
    for index, each in enumerate(items(data, *SPEC, "replicatedJobs")):
        job = (*SPEC, "replicatedJobs", index, "template")
        pod = (*job, "spec", "template")
        trains = text(data, *job, "metadata", "labels", STEP) == "trainer" or text(each, "name") == "node"
        for number, container in enumerate(items(data, *pod, "spec", "containers")):
            if resources and trains and text(container, "name") == "node":
                data = put(data, (*pod, "spec", "containers", number, "resources"), resources)
        for template in _overrides(one, text(each, "name")):
            data = put(data, pod, _merged(get(data, *pod), template))
        for patch in items(one.data, *PATCHES):
            own = text(patch, "manager") == MANAGER
            for change in () if own else items(patch, "trainingRuntimeSpec", *SPEC[1:], "replicatedJobs"):
                if text(change, "name") == text(each, "name"):
                    data = put(data, job, _merged(get(data, *job), mapping(change, "template")))
    return data


def _overrides(one: Object, job: str) -> Iterator[dict[str, Any]]:
    """What a TrainJob of Trainer 2.0 (`podSpecOverrides`) or 2.1 changes in the pod template of a replicatedJob."""
    for key in OVERRIDES:
        for each in items(one.data, "spec", key):
            if any(text(target, "name") == job for target in items(each, "targetJobs")):
                fields = {field: value for field, value in each.items() if field != "targetJobs"}
                yield fields if key == OVERRIDES[0] else {"spec": fields}


def _merged(data: Any, patch: Any) -> Any:
    """The mapping with a patch. Patches of containers set only variables and mounts, which placements do not need."""
    if not (isinstance(data, Mapping) and isinstance(patch, Mapping)):
        return patch if data is None or not isinstance(data, Mapping) else data
    kept = {key: value for key, value in patch.items() if key not in ("containers", "initContainers")}
    return {**data, **{key: _merged(data.get(key), value) for key, value in kept.items()}}


def _counted(template_slot: TemplateSlot | Diagnostic, one: Object, runtime: Object) -> TemplateSlot | Diagnostic:
    """The slot with the number of pods that Trainer gives it, if the runtime's Job does not set it."""
    if not isinstance(template_slot, TemplateSlot) or template_slot.job is None:
        return template_slot
    # The trainer has one pod for each node of the TrainJob, or of the runtime (Trainer 2.2, plugins/torch). With MPI,
    # the TrainJob's nodes are those of the Job `node`, without the launcher's if it is one of them. The runtime sets
    # the launcher's number (plugins/mpi and core/trainingruntime.go).
    trains = text(runtime.data, *template_slot.job, "metadata", "labels", STEP) == "trainer"
    counted = template_slot.name == "node" if get(runtime.data, *MPI) is not None else trains
    for holder, path in (*(((one, ASKED),) if counted else ()), *(((runtime, OFFERED),) if trains else ())):
        if get(holder.data, *path) is not None:
            nodes = number_in(holder.data, *path)
            if nodes is None or nodes < 0:
                return unknown(holder, (*holder.route, *path))
            led = path == ASKED and get(runtime.data, *MPI, "runLauncherAsNode") is True
            return template_slot._replace(replicas=max(nodes - 1, 1) if led else nodes)
    return template_slot


# Volcano's Job (batch.volcano.sh): a podSet for each task.


def volcano_job(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """The podSets have the names of the tasks."""
    slots = tuple(_task_slots(one))
    return templates("volcano-job", one, slots, _fewer(one, slots), queue=text(one.data, "spec", "queue"))


def _task_slots(one: Object) -> Iterator[TemplateSlot | Diagnostic]:
    """A task without a name is `default` and its number (Volcano 1.15, webhooks/admission/jobs/mutate)."""
    for index, each in enumerate(items(one.data, "spec", "tasks")):
        called = f"default{index}" if get(each, "name") in (None, "") else text(each, "name")
        pods = slot(one, called, ("spec", "tasks", index, "template"), job=("spec", "tasks", index))
        yield late(pods, start_order.task(one, index))


def _fewer(one: Object, slots: Slots) -> Iterator[Diagnostic]:
    """W506 of the Job, or of its tasks."""
    if get(one.data, "spec", "minAvailable"):
        yield from fewer(one, ("spec", "minAvailable"), slots)
        return
    for each in slots:
        if isinstance(each, TemplateSlot):
            yield from fewer(one, (*each.path[:-1], "minAvailable"), (each,))
