"""TrainJob (trainer.kubeflow.org): its pod templates stand in the runtime that it names."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Outcome, error
from bayplan.kube.cards import meets
from bayplan.kube.objects import group, kind, name, named, namespace, title
from bayplan.kube.safe import get, number, text
from bayplan.kube.workloads import jobset
from bayplan.kube.workloads.parts import Objects, roster, unknown
from bayplan.model.augment import Path, Roster, Seat
from bayplan.model.manifest import Object

GROUP = "trainer.kubeflow.org"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
SPEC: Path = ("spec", "template", "spec")
PATCHES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")
"""What changes the pods of one TrainJob, in Trainer 2.2, 2.1 and 2.0."""

ASKED: Path = ("spec", "trainer", "numNodes")
OFFERED: Path = ("spec", "mlPolicy", "numNodes")
MPI: Path = ("spec", "mlPolicy", "mpi")


def train_job(one: Object, objects: Objects) -> Outcome[Roster]:
    """The podSets of the runtime, which is what the roster holds. W507: it is not there; W508: it is not its own."""
    runtime = next((each for each in objects if _is_runtime(each, one)), None)
    if runtime is None:
        message = f"the pods of {title(one)} are described by {_called(one)}, which is not among the manifests"
        hint = "read a TrainingRuntime of its own with it, or use a JobSet"
        return Outcome(None, (error("W507", (*one.route, "spec", "runtimeRef"), message, hint=hint),))
    wrong = (*_shared(one, runtime, objects), *_patched(one), *_grouped(one, runtime))
    if wrong:
        return Outcome(None, wrong)
    seats = [_counted(each, one, runtime) for each in jobset.seats(runtime, SPEC)]
    return roster("trainjob", runtime, seats, jobset.said(runtime, SPEC), workload=one)


def _reference(one: Object) -> tuple[str, str]:
    """Kind and name, as the API server completes them."""
    asked = text(one.data, "spec", "runtimeRef", "kind")
    return asked or "ClusterTrainingRuntime", text(one.data, "spec", "runtimeRef", "name")


def _called(one: Object) -> str:
    called, what = _reference(one)
    return f'{called} "{what}"'


def _is_runtime(each: Object, one: Object) -> bool:
    if group(each) != GROUP or (kind(each), name(each)) != _reference(one):
        return False
    return kind(each) == "ClusterTrainingRuntime" or meets(namespace(each), namespace(one))


def _shared(one: Object, runtime: Object, objects: Objects) -> Iterator[Diagnostic]:
    """W508: what is written into a runtime holds for all that use it."""
    route, hint = (*one.route, "spec", "runtimeRef"), "give it a TrainingRuntime of its own"
    note = Note("the runtime is here", named(runtime))
    if kind(runtime) == "ClusterTrainingRuntime":
        message = f"{title(one)} shares {title(runtime)} with the whole cluster, so it cannot be placed alone"
        yield error("W508", route, message, hint=hint, notes=(note,))
        return
    for other in objects:
        same_kind = (group(other), kind(other)) == (GROUP, "TrainJob")
        if same_kind and other.route != one.route and _is_runtime(runtime, other):
            message = f"{title(one)} shares {title(runtime)} with {title(other)}, so it cannot be placed alone"
            yield error("W508", route, message, hint=hint, notes=(note,))
            return


def _patched(one: Object) -> Iterator[Diagnostic]:
    """W508: what the TrainJob says of its pods is not in the runtime."""
    own: list[Path] = [("spec", key) for key in PATCHES]
    for path in (*own, ("spec", "trainer", "resourcesPerNode")):
        if get(one.data, *path):
            message = f"{title(one)} changes its pods by `{path[-1]}`, and bayplan reads the runtime alone"
            yield error("W508", (*one.route, *path), message, hint="write it into the TrainingRuntime")


def _grouped(one: Object, runtime: Object) -> Iterator[Diagnostic]:
    """W510: Trainer's coscheduling and volcano plugins make a PodGroup each."""
    if get(runtime.data, "spec", "podGroupPolicy"):
        message = f"{title(runtime)} makes a PodGroup of its own for {title(one)}, and pods belong to one gang only"
        hint = "remove `podGroupPolicy`, or leave the placement out"
        yield error("W510", (*runtime.route, "spec", "podGroupPolicy"), message, hint=hint)


def _counted(found: Seat | Diagnostic, one: Object, runtime: Object) -> Seat | Diagnostic:
    """The seat with as many pods as Trainer gives it, where the runtime's Job does not say that itself."""
    if not isinstance(found, Seat) or found.job is None:
        return found
    places = _by_mpi if get(runtime.data, *MPI) is not None else _by_role
    for holder, path in places(found, one, runtime):
        if get(holder.data, *path) is not None:
            nodes = number(holder.data, *path)
            if nodes is None or nodes < 0:
                return unknown(holder, (*holder.route, *path))
            led = path == ASKED and get(runtime.data, *MPI, "runLauncherAsNode") is True
            return found._replace(replicas=max(nodes - 1, 1) if led else nodes)
    return found


Places = tuple[tuple[Object, Path], ...]


def _by_role(seat: Seat, one: Object, runtime: Object) -> Places:
    """The trainer's pods are as many as the TrainJob has nodes, else the runtime (Trainer 2.2, plugins/torch)."""
    return ((one, ASKED), (runtime, OFFERED)) if _trains(seat, runtime) else ()


def _by_mpi(seat: Seat, one: Object, runtime: Object) -> Places:
    """The TrainJob's nodes are those of the Job `node`, less the launcher's where it is one of them; the launcher's own
    are as many as the runtime says (Trainer 2.2, plugins/mpi and core/trainingruntime.go)."""
    asked: Places = ((one, ASKED),) if seat.name == "node" else ()
    return (*asked, (runtime, OFFERED)) if _trains(seat, runtime) else asked


def _trains(seat: Seat, runtime: Object) -> bool:
    return seat.job is not None and text(runtime.data, *seat.job, "metadata", "labels", STEP) == "trainer"
