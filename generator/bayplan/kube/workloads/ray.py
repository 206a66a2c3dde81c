"""RayCluster and RayJob (ray.io): the head, and a podSet for each worker group."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome, error, info, warning
from bayplan.kube.objects import title
from bayplan.kube.safe import get, items, number, text
from bayplan.kube.workloads.parts import GROWS, Objects, roster, seat
from bayplan.model.augment import Path, Roster, Seat
from bayplan.model.manifest import Object


def ray_cluster(one: Object, _: Objects) -> Outcome[Roster]:
    """`head`, and the worker groups by their names."""
    return roster("raycluster", one, _seats(one, ("spec",)), _scaled(one, ("spec",)))


def ray_job(one: Object, _: Objects) -> Outcome[Roster]:
    """Those of the cluster that it brings. The pod that submits the job is no part of the gang."""
    spec: Path = ("spec", "rayClusterSpec")
    if get(one.data, "spec", "clusterSelector"):
        message = f"{title(one)} runs in a RayCluster that is there, and makes no cluster of its own"
        route = (*one.route, "spec", "clusterSelector")
        return Outcome(None, (error("W503", route, message, hint="place that RayCluster instead"),))
    return roster("rayjob", one, _seats(one, spec), _scaled(one, spec))


def _seats(one: Object, spec: Path) -> Iterator[Seat | Diagnostic]:
    yield seat(one, "head", (*spec, "headGroupSpec", "template"))
    for index, each in enumerate(items(one.data, *spec, "workerGroupSpecs")):
        yield seat(one, text(each, "groupName"), (*spec, "workerGroupSpecs", index, "template"))


def _scaled(one: Object, spec: Path) -> Iterator[Diagnostic]:
    """W506: Ray's autoscaler changes the number of workers, or somebody may."""
    if get(one.data, *spec, "enableInTreeAutoscaling") is True:
        message = f"Ray scales {title(one)} as it runs; only the `replicas` of its worker groups are planned"
        yield warning("W506", (*one.route, *spec, "enableInTreeAutoscaling"), message, hint=GROWS)
        return
    for index, each in enumerate(items(one.data, *spec, "workerGroupSpecs")):
        least, asked = number(each, "minReplicas"), number(each, "replicas")
        if least is not None and asked is not None and least < asked:
            message = f'worker group "{text(each, "groupName")}" may shrink to {least}; all {asked} are planned'
            yield info("W506", (*one.route, *spec, "workerGroupSpecs", index, "minReplicas"), message)
