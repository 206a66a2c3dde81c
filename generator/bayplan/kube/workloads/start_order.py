"""Which pods of a workload exist before any of it runs, by the controllers that make them.

Kubernetes 1.37: pkg/controller/job/job_controller.go (`manageJob`), pkg/controller/statefulset/stateful_set_control.go.
JobSet 0.12: pkg/controllers/jobset_controller.go. LWS 0.9: pkg/controllers/pod_controller.go.
Volcano 1.15: pkg/controllers/job/job_controller_actions.go (`waitDependsOnTaskMeetCondition`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.kube.objects import get, items, mapping, number_in, text, title
from bayplan.model.augment import Late, Path
from bayplan.model.manifest import Object

RUN_APART = "run what comes first as a Job of its own or as an init container, and remove `dependsOn`"


def stateful_set(one: Object) -> Late | None:
    """By default each pod waits until the one before is ready."""
    if text(one.data, "spec", "podManagementPolicy") == "Parallel":
        return None
    what = "each pod starts when the one before it is ready"
    hint = "set `podManagementPolicy: Parallel`; the field cannot be changed later"
    return Late((*one.route, "spec", "podManagementPolicy"), what, hint, first=1)


def deployment(one: Object) -> Late | None:
    """By default a rollout starts new pods beside the old ones, and stops these one by one (apps/v1)."""
    strategy = mapping(one.data, "spec", "strategy")
    surge, single = get(strategy, "rollingUpdate", "maxSurge"), (number_in(one.data, "spec", "replicas") or 1) == 1
    if single or text(strategy, "type") == "Recreate" or surge in (0, "0", "0%"):
        return None
    what = f"a rollout of {title(one)} starts new pods beside the old ones"
    hint = "set `strategy: {type: Recreate}` or `maxSurge: 0`; or if its pods need no others, set `replicas: apart`"
    return Late((*one.route, "spec", "strategy"), what, hint, rolls=True)


def waves(one: Object, spec: Path) -> Late | None:
    """Of 9 completions by 4 pods at once, the last one starts when the others have ended."""
    parallelism, completions = get(one.data, *spec, "parallelism"), number_in(one.data, *spec, "completions")
    at_once = 1 if parallelism is None else number_in(one.data, *spec, "parallelism")
    if completions is None or not at_once or at_once < 0 or completions == at_once:
        return None
    key = "completions" if parallelism is None else "parallelism"
    what = f"{title(one)} runs {completions} pods, {at_once} at a time"
    last = completions % at_once if completions > at_once else None
    hint = f"set `parallelism: {completions}`, or make `completions` a multiple of `parallelism`"
    return Late((*one.route, *spec, key), what, hint, last=last or None)


def jobs(one: Object, spec: Path) -> Iterator[Late | None]:
    """For each replicatedJob of a JobSet's spec at a path."""
    order = (*spec, "startupPolicy", "startupPolicyOrder")
    in_order, before = text(one.data, *order) == "InOrder", list[str]()
    for index, each in enumerate(items(one.data, *spec, "replicatedJobs")):
        here = (*spec, "replicatedJobs", index)
        after = tuple(text(other, "name") for other in items(each, "dependsOn"))
        last = waves(one, (*here, "template", "spec"))
        if after:
            what = f'replicatedJob "{text(each, "name")}" waits for another'
            yield Late((*one.route, *here, "dependsOn"), what, RUN_APART, after=after)
        elif in_order and before:
            what = "replicatedJobs start one after another"
            yield Late((*one.route, *order), what, "set `AnyOrder`", after=tuple(before))
        else:
            yield last
        before.append(text(each, "name"))


def leader_ready(one: Object) -> Late | None:
    """Workers of a LeaderWorkerSet that start when their leader is ready."""
    if text(one.data, "spec", "startupPolicy") != "LeaderReady":
        return None
    at, what = (*one.route, "spec", "startupPolicy"), "workers start when their leader is ready"
    late = Late(at, what, "set `startupPolicy: LeaderCreated`")
    led = mapping(one.data, "spec", "leaderWorkerTemplate", "leaderTemplate")
    return late._replace(after=("leader",)) if led else late._replace(first=1)


def task(one: Object, index: int) -> Late | None:
    """A task of a Volcano Job that waits for others; with `iteration: any`, for one of them."""
    each = get(one.data, "spec", "tasks", index)
    after = tuple(str(other) for other in items(each, "dependsOn", "name"))
    if not after:
        return None
    route, what = (*one.route, "spec", "tasks", index, "dependsOn"), f'task "{text(each, "name")}" waits for another'
    some = text(each, "dependsOn", "iteration") == "any"
    return Late(route, what, "run what comes first as a Job of its own, and remove `dependsOn`", after=after, some=some)


def present(late: Late | None, replicas: int, inside: Sequence[str]) -> int:
    """How many of the pods exist before any of their gang runs. `inside`: the slots of `late.after` in the gang."""
    if late is None:
        return replicas
    if inside and (len(inside) == len(late.after) or not late.some):
        return 0
    return replicas if late.first is None else min(late.first, replicas)
