"""Platforms of tasks -> pools of the topology, with what a pool configuration sets for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    ClusterTopology,
    Context,
    Diagnostic,
    Outcome,
    Route,
    did_you_mean,
    error,
    has_errors,
    listing,
    warning,
)
from bayplan.plugins.osmo.pool.rendering import Render
from bayplan.plugins.osmo.pool.values import SUBJECT, PoolConfig, Share, TaskRequest
from bayplan.plugins.osmo.source import ROOT, Action, Allocation, Task, TaskGroup, amounts, exclude_nodes, gpus
from bayplan.plugins.osmo.units import k8s_name, seconds

# The cluster of an OSMO workflow: the topology, and OSMO's pool configuration if one was passed.

LONGEST = 2**31 - 1
"""The largest activeDeadlineSeconds of a pod (Kubernetes, ValidatePodSpec)."""


class Limits(NamedTuple):
    """Seconds, at least one: how long a pod may run, and how long a gang may wait and run. None means no limit.

    The first is the pod's activeDeadlineSeconds, which the kubelet counts from the start of the pod. The second is the
    Job's, which counts from the creation of the Job, so it includes the time in the queue.
    """

    execution: int | None
    total: int | None


class Site(NamedTuple):
    """`keys`: the topology keys of the pool configuration, coarse to fine; `levels`: the level of each, by label."""

    topology: ClusterTopology | None
    config: PoolConfig | None = None
    keys: tuple[str, ...] = ()
    levels: Mapping[str, str] = {}
    render: Render | None = None  # runs the templates of pod templates


def site(spec: Mapping[str, Any], context: Context) -> Outcome[Site]:
    """The topology and pool configuration of the context, with the pool that the workflow names."""
    document = context.beside.get(SUBJECT)
    if document is None:
        return Outcome(Site(context.topology))
    from bayplan.plugins.osmo.pool import levels, library, reading

    config = reading.read(document, str(spec.get("pool") or ""))
    if config.value is None:
        return Outcome(None, config.diagnostics)
    keys, render = tuple(key.key for key in config.value.keys), context.render
    if context.topology is None:
        return Outcome(Site(None, config.value, keys, render=render), config.diagnostics)
    joined = levels.levels(config.value, context.topology)
    findings: tuple[Diagnostic, ...] = (*config.diagnostics, *joined.diagnostics)
    findings += tuple(library.group_template_findings(config.value))
    if joined.value is None:
        return Outcome(None, findings)
    return Outcome(Site(context.topology, config.value, keys, joined.value, render), findings)


def limits(spec: Mapping[str, Any], config: PoolConfig | None) -> Outcome[Limits]:
    """The timeouts of a workflow, with its pool's defaults and maxima (W457)."""
    timeouts = spec.get("timeout") or {}
    execution, queue = seconds(timeouts.get("exec_timeout")) or None, seconds(timeouts.get("queue_timeout")) or None
    findings: tuple[Diagnostic, ...] = ()
    if config:
        from bayplan.plugins.osmo.pool import levels

        bounded, findings = levels.timeouts(config, execution, queue, (*ROOT, "timeout"))
        execution, queue = (_whole(bounded.execution), _whole(bounded.queue)) if bounded else (None, None)
    total = None if execution is None or queue is None else min(execution + queue, LONGEST)
    return Outcome(Limits(execution and min(execution, LONGEST), total), findings)


def _whole(value: float | None) -> int | None:
    return None if value is None else -int(-value // 1)


MEMORY = "/dev/shm"


def allocations(groups: Sequence[TaskGroup], workflow: str, here: Site) -> Outcome[Mapping[str, Allocation]]:
    """The allocation of every task by its name; None if a task has none. W483. Each finding is reported once."""
    tasks = [(task, group) for group in groups for task in group.tasks]
    outcomes = _configured(tasks, workflow, here, here.config) if here.config else _plain(tasks, here)
    findings = [each for outcome in outcomes for each in outcome.diagnostics]
    if here.config:
        from bayplan.plugins.osmo.pool import reading

        for group in groups:
            gpus_of_group = sum(map(gpus, group.tasks))
            findings += reading.quota(here.config, group.name, gpus_of_group, (*group.route, "name"))
    values = {task.name: each.value for (task, _), each in zip(tasks, outcomes, strict=False) if each.value is not None}
    return Outcome(values if len(values) == len(tasks) else None, tuple(dict.fromkeys(findings)))


def _plain(tasks: Sequence[tuple[Task, TaskGroup]], here: Site) -> list[Outcome[Allocation]]:
    """The requests of tasks, each in the pool that has the name of its platform."""
    outcomes = []
    for task, _ in tasks:
        at = (*task.resource_route, "platform")
        pool = pool_of(at, here.topology, task.resource.get("platform", ""), {})
        mount_findings = tuple(_mounts(task))
        mounts = tuple(task.data.get("volumeMounts", ()))
        template = exclude_nodes({}, task.resource.get("nodesExcluded", ()))
        actions = _exit_actions(task, {})
        allocation = Allocation(pool.value or "", amounts(task), gpus(task), template, actions, mounts)
        refused = has_errors(mount_findings) or pool.value is None
        outcomes.append(Outcome(None if refused else allocation, (*mount_findings, *pool.diagnostics)))
    return outcomes


def _mounts(task: Task) -> Iterator[Diagnostic]:
    """W483: a platform allows no folder of its nodes by default (OSMO 6.4, PlatformBase).

    A warning for /dev/shm, which every node has; an error for other folders.
    """
    hint = "pass OSMO's pool configuration with --osmo-pool; allowed_mounts of the platform must have the folder"
    for number, mount in enumerate(task.data.get("volumeMounts", ())):
        source, route = mount.partition(":")[0], (*task.route, "volumeMounts", number)
        message = f'no pool configuration allows tasks to mount "{source}" from the node'
        if source == MEMORY:
            yield warning("W483", route, f"{message}; bayplan mounts it anyway", hint=hint)
        else:
            yield error("W483", route, message, hint=hint)


def _configured(
    tasks: Sequence[tuple[Task, TaskGroup]], workflow: str, here: Site, config: PoolConfig
) -> list[Outcome[Allocation]]:
    """The platforms' pod templates, rendered for the tasks. One request renders all of them."""
    from bayplan.plugins.osmo.pool import sharing

    asks = [_task_request(task, group, workflow) for task, group in tasks]
    shared = sharing.shares(config, asks, here.topology, here.render)
    if shared.value is None:
        return [Outcome(None, shared.diagnostics)]
    outcomes = [_allocation(task, share, here, config) for (task, _), share in zip(tasks, shared.value, strict=True)]
    return [outcomes[0]._replace(diagnostics=(*shared.diagnostics, *outcomes[0].diagnostics)), *outcomes[1:]]


def _allocation(task: Task, share: Share, here: Site, config: PoolConfig) -> Outcome[Allocation]:
    template, selector = _without_container_name(share.template, k8s_name(task.name))
    platform, at = config.default_platform, config.places.get("default_platform", config.route)
    if task.resource.get("platform"):
        platform, at = task.resource["platform"], (*task.resource_route, "platform")
    pool = pool_of(at, here.topology, platform, selector)
    if pool.value is None:
        return Outcome(None, pool.diagnostics)
    accelerators = gpus(task) if share.accelerators is None else share.accelerators
    actions = _exit_actions(task, config.default_exit_actions)
    template = exclude_nodes(template, task.resource.get("nodesExcluded", ()))
    origins = {**share.origins, ("pool",): at}
    allocation = Allocation(pool.value, share.resources, accelerators, template, actions, share.mounts, origins)
    return Outcome(allocation, pool.diagnostics)


def _task_request(task: Task, group: TaskGroup, workflow: str) -> TaskRequest:
    data, resource = task.data, task.resource
    at = task.resource_route if resource else task.route
    own = {"privileged": "privileged", "host_network": "hostNetwork", "cache": "cacheSize"}
    return TaskRequest(
        route=task.route,
        task=task.name,
        container=k8s_name(task.name),
        group=group.name,
        workflow=workflow,
        platform=resource.get("platform", ""),
        cpu=resource.get("cpu"),
        gpu=resource.get("gpu"),
        memory=resource.get("memory", ""),
        storage=resource.get("storage", ""),
        cache=data.get("cacheSize", ""),
        excluded=tuple(resource.get("nodesExcluded", ())),
        lead=len(group.tasks) == 1 or data.get("lead", False),
        privileged=data.get("privileged", False),
        host_network=data.get("hostNetwork", False),
        mounts=tuple(data.get("volumeMounts", ())),
        places={
            **{key: (*at, key) if key in resource else at for key in ("platform", "cpu", "gpu", "memory", "storage")},
            **{key: (*task.route, name) for key, name in own.items()},
        },
        mount_places=tuple(
            (*task.route, "volumeMounts", number) for number in range(len(data.get("volumeMounts", ())))
        ),
    )


def _without_container_name(template: Mapping[str, Any], container: str) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The template with the user's container first and without its name, so that equal tasks are equal; and the
    node labels that it selects."""
    spec = dict(template.get("spec") or {})
    own = [each for each in spec.get("containers") or () if each.get("name", container) == container]
    rest = [each for each in spec.get("containers") or () if each.get("name", container) != container]
    main = [{key: value for key, value in each.items() if key != "name"} for each in own] or [{}]
    spec.pop("containers", None)
    if rest or main[0]:  # beside other containers the list has the user's container, even if it is empty
        spec["containers"] = [*main, *rest]
    result = {key: value for key, value in {**template, "spec": spec}.items() if value}
    return result, spec.get("nodeSelector") or {}


def _exit_actions(task: Task, defaults: Mapping[str, str]) -> tuple[Action, ...]:
    """The task's exit actions in the order of the file, then the pool's."""
    own = task.data.get("exitActions", {})
    return tuple((name.upper(), codes) for each in (own, defaults) for name, codes in each.items())


def pool_of(at: Route, topology: ClusterTopology | None, platform: str, selector: Mapping[str, str]) -> Outcome[str]:
    """The pool of a platform: the pool of that name, or the only pool whose nodes have the labels that the platform
    selects, or the topology's only pool. Empty if any pool will do. `at`: the place that names the platform."""
    if not platform or topology is None:
        return Outcome(k8s_name(platform))
    names = [pool.name for pool in topology.pools]
    if k8s_name(platform) in names:
        return Outcome(k8s_name(platform))
    alike = [p.name for p in topology.pools if selector and selector.items() <= dict(p.node.node_selector).items()]
    return Outcome(alike[0]) if len(alike) == 1 else _unknown_platform(at, platform, names)


def _unknown_platform(at: Route, platform: str, names: list[str]) -> Outcome[str]:
    """W465: a warning if the topology has one pool, which gets every platform; an error if there are several."""
    if len(names) == 1:
        message = f'the topology has no pool "{platform}"; the pods run in its only pool, "{names[0]}"'
        return Outcome("", (warning("W465", at, message, hint="give the pool the name of the platform"),))
    message = f'the topology has no pool for platform "{platform}"; it has {listing(names, "and")}'
    hint = did_you_mean(platform, names)
    hint = hint or "give a pool the name of the platform, or pass OSMO's pool configuration with --osmo-pool"
    return Outcome(None, (error("W465", at, message, hint=hint),))
