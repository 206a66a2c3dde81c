"""The pod templates in a workload: Kueue makes one podSet of each (Kueue 0.19, `pkg/controller/jobs`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, items, mapping, number_in, text

REPLICATED = ("pytorch", "tf", "xgb", "paddle", "jax", "mpi")
"""Kubeflow's kinds keep their templates in `spec.<word>ReplicaSpecs.<role>`."""


class Template(NamedTuple):
    """A pod template: its path in the object, and how many pods the podSet has, where the object says it."""

    path: Route
    data: Mapping[str, Any]
    pods: int | None = None

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Its annotations, whatever their values are."""
        return mapping(self.data, "metadata", "annotations")


def templates(data: Mapping[str, Any]) -> list[Template]:
    """All pod templates of an object; none of kinds that have no pods, or that are not known."""
    kind = text(data, "kind")
    if kind in READERS:
        return list(READERS[kind](data))
    return [each for word in REPLICATED for each in _replica_specs(data, f"{word}ReplicaSpecs")]


def _at(data: Mapping[str, Any], path: Route, count: int | None) -> Iterator[Template]:
    if isinstance(get(data, *path), dict):
        yield Template(path, mapping(data, *path), count)


def _job(data: Mapping[str, Any]) -> Iterator[Template]:
    yield from _at(data, ("spec", "template"), _parallel(mapping(data, "spec")))


def _parallel(spec: Mapping[str, Any]) -> int:
    """Pods of a Job that run at once."""
    parallelism, completions = number_in(spec, "parallelism"), number_in(spec, "completions")
    given = [each for each in (parallelism, completions) if each is not None]
    return min(given) if given else 1


def _cron_job(data: Mapping[str, Any]) -> Iterator[Template]:
    path = ("spec", "jobTemplate", "spec")
    yield from _at(data, (*path, "template"), _parallel(mapping(data, *path)))


def _job_set(data: Mapping[str, Any]) -> Iterator[Template]:
    for index, job in enumerate(items(data, "spec", "replicatedJobs")):
        replicas = number_in(job, "replicas")
        pods = (1 if replicas is None else replicas) * _parallel(mapping(job, "template", "spec"))
        yield from _at(data, ("spec", "replicatedJobs", index, "template", "spec", "template"), pods)


def _pod(data: Mapping[str, Any]) -> Iterator[Template]:
    yield Template((), data)


def _replicas(data: Mapping[str, Any]) -> Iterator[Template]:
    yield from _at(data, ("spec", "template"), number_in(data, "spec", "replicas"))


def _leader_worker_set(data: Mapping[str, Any]) -> Iterator[Template]:
    path = ("spec", "leaderWorkerTemplate")
    size = number_in(data, *path, "size") or 1
    yield from _at(data, (*path, "leaderTemplate"), 1)
    led = isinstance(get(data, *path, "leaderTemplate"), dict)
    yield from _at(data, (*path, "workerTemplate"), size - led)


def _replica_specs(data: Mapping[str, Any], word: str) -> Iterator[Template]:
    for role, spec in mapping(data, "spec", word).items():
        yield from _at(data, ("spec", word, role, "template"), number_in(spec, "replicas"))


def _train_job(data: Mapping[str, Any]) -> Iterator[Template]:
    for i, patch in enumerate(items(data, "spec", "runtimePatches")):
        jobs = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for j, _ in enumerate(items(patch, *jobs)):
            yield from _at(data, ("spec", "runtimePatches", i, *jobs, j, "template", "spec", "template"), None)


READERS = {
    "Job": _job,
    "CronJob": _cron_job,
    "JobSet": _job_set,
    "Pod": _pod,
    "Deployment": _replicas,
    "StatefulSet": _replicas,
    "ReplicaSet": _replicas,
    "LeaderWorkerSet": _leader_worker_set,
    "TrainJob": _train_job,
}
