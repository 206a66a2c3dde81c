"""PyTorchJob and MPIJob (kubeflow.org): a podSet for each replica type, called as it is in lower case."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome, info, warning
from bayplan.kube.objects import title
from bayplan.kube.safe import get, mapping, text
from bayplan.kube.workloads.parts import GROWS, Found, Objects, fewer, numbered, roster, seat
from bayplan.model.augment import Roster, Seat
from bayplan.model.manifest import Object

FIRST = ("master", "launcher")
"""Replica types whose pods have the first ranks."""


def pytorch_job(one: Object, _: Objects) -> Outcome[Roster]:
    """`master` and `worker`."""
    seats = tuple(_seats(one, "pytorchReplicaSpecs"))
    return roster("pytorchjob", one, seats, _elastic(one, seats))


def mpi_job(one: Object, _: Objects) -> Outcome[Roster]:
    """`launcher` and `worker`. A launcher that starts when all workers are ready is no part of their gang (W506)."""
    seats = tuple(_seats(one, "mpiReplicaSpecs"))
    if text(one.data, "spec", "launcherCreationPolicy") != "WaitForWorkersReady":
        return roster("mpijob", one, seats, _elastic(one, seats))
    workers = [each for each in seats if not (isinstance(each, Seat) and each.name == "launcher")]
    message = f"the launcher of {title(one)} starts when all workers are ready, so the gang is the workers alone"
    hint = "use `launcherCreationPolicy: AtStartup` to place the launcher with them"
    late = info("W506", (*one.route, "spec", "launcherCreationPolicy"), message, hint=hint)
    return roster("mpijob", one, workers, (late, *_elastic(one, workers)))


def _seats(one: Object, key: str) -> Iterator[Seat | Diagnostic]:
    """Keys in any case mean the same (training-operator 1.9, `setTypeNamesToCamelCase`)."""
    types = [each for each in mapping(one.data, "spec", key) if isinstance(each, str)]
    for each in sorted(types, key=lambda each: (each.lower() not in FIRST, each.lower())):
        found = seat(one, each.lower(), ("spec", key, each, "template"))
        yield numbered(found, get(one.data, "spec", "runLauncherAsWorker") is not True)  # it is 0, and workers follow


def _elastic(one: Object, seats: Found) -> Iterator[Diagnostic]:
    """W506."""
    if get(one.data, "spec", "elasticPolicy"):
        message = f"{title(one)} is elastic; only its `replicas` are planned, as one gang"
        yield warning("W506", (*one.route, "spec", "elasticPolicy"), message, hint=GROWS)
    yield from fewer(one, ("spec", "runPolicy", "schedulingPolicy", "minAvailable"), seats)
