"""Platforms of tasks -> pools of the topology, and what a pool configuration says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, warning
from bayplan.model.topology import ClusterTopology
from bayplan.words import did_you_mean, listing
from bayplan.workflows.osmo.pool.values import Ask, PoolConfig
from bayplan.workflows.osmo.translate.portion import Portion, amounts, gpus, text
from bayplan.workflows.osmo.translate.site import Site
from bayplan.workflows.osmo.translate.source import Task, TaskGroup
from bayplan.workflows.osmo.units import k8s_name


def portions(groups: Iterable[TaskGroup], workflow: str, here: Site) -> Outcome[Mapping[str, Portion]]:
    """The portion of every task by its name; None when any has none. A finding of several tasks comes once."""
    made: dict[str, Portion] = {}
    found: dict[tuple[str, Route], Diagnostic] = {}
    total = 0
    for group in groups:
        for task in group.tasks:
            total += 1
            own = _configured(task, group, workflow, here.config, here) if here.config else _plain(task, here.topology)
            found.update({(each.code, each.route): each for each in own.diagnostics})
            if own.value is not None:
                made[task.name] = own.value
    return Outcome(made if len(made) == total else None, tuple(found.values()))


def _plain(task: Task, topology: ClusterTopology | None) -> Outcome[Portion]:
    """What a task asks for, in the pool that is called as its platform."""
    pool = pool_of(task, topology, str(task.resource.get("platform") or ""), {})
    made = Portion(pool.value or "", amounts(task), gpus(task), {}, _exit_actions(task, {}))
    return Outcome(made if pool.value is not None else None, pool.diagnostics)


def _configured(task: Task, group: TaskGroup, workflow: str, config: PoolConfig, here: Site) -> Outcome[Portion]:
    """What the platform's pod template makes of what a task asks for."""
    from bayplan.workflows.osmo import pool

    shared = pool.share(config, _ask(task, group, workflow), here.topology, here.render)
    if shared.value is None:
        return Outcome(None, shared.diagnostics)
    platform = str(task.resource.get("platform") or config.default_platform)
    template, selector = _unnamed(shared.value.template, k8s_name(task.name))
    own = pool_of(task, here.topology, platform, selector)
    cards = gpus(task) if shared.value.accelerators is None else shared.value.accelerators
    made = Portion(
        own.value or "", shared.value.resources, cards, template, _exit_actions(task, config.default_exit_actions)
    )
    return Outcome(made if own.value is not None else None, (*shared.diagnostics, *own.diagnostics))


def _ask(task: Task, group: TaskGroup, workflow: str) -> Ask:
    data, resource, at = task.data, task.resource, task.resource_route
    own = {"privileged": "privileged", "host_network": "hostNetwork", "cache": "cacheSize"}
    return Ask(
        route=task.route,
        task=task.name,
        container=k8s_name(task.name),
        group=group.name,
        workflow=workflow,
        platform=str(resource.get("platform") or ""),
        cpu=None if resource.get("cpu") is None else int(resource["cpu"]),
        gpu=None if resource.get("gpu") is None else int(resource["gpu"]),
        memory=text(resource.get("memory") or ""),
        storage=text(resource.get("storage") or ""),
        cache=text(data.get("cacheSize") or ""),
        excluded=tuple(text(each) for each in resource.get("nodesExcluded") or ()),
        lead=len(group.tasks) == 1 or bool(data.get("lead")),
        privileged=bool(data.get("privileged")),
        host_network=bool(data.get("hostNetwork")),
        mounts=tuple(data.get("volumeMounts") or ()),
        places={
            **{key: (*at, key) for key in ("platform", "cpu", "gpu", "memory", "storage")},
            **{key: (*task.route, name) for key, name in own.items()},
        },
        mount_places=tuple((*task.route, "volumeMounts", i) for i in range(len(data.get("volumeMounts") or ()))),
    )


def _unnamed(template: Mapping[str, Any], container: str) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The template with the user's container first and without its name, so that equal tasks are equal; and the
    labels that it selects nodes by."""
    spec = dict(template.get("spec") or {})
    own = [each for each in spec.get("containers") or () if each.get("name", container) == container]
    rest = [each for each in spec.get("containers") or () if each.get("name", container) != container]
    main = [{key: value for key, value in each.items() if key != "name"} for each in own]
    if spec.pop("containers", None):
        spec["containers"] = [*(each for each in main if each), *rest]
    made = {key: value for key, value in {**template, "spec": spec}.items() if value}
    return made, spec.get("nodeSelector") or {}


def _exit_actions(task: Task, defaults: Mapping[str, str]) -> dict[str, str]:
    """The pool's defaults and the task's own."""
    own = {name.upper(): text(codes) for name, codes in (task.data.get("exitActions") or {}).items()}
    return {**{name.upper(): codes for name, codes in defaults.items()}, **own}


def pool_of(task: Task, topology: ClusterTopology | None, platform: str, selector: Mapping[str, str]) -> Outcome[str]:
    """The pool of a platform: the one of its name, else the only one whose nodes have the labels that it selects,
    else the topology's only one. Empty where nothing is to be said."""
    if not platform or topology is None:
        return Outcome(k8s_name(platform))
    names = [pool.name for pool in topology.pools]
    if k8s_name(platform) in names:
        return Outcome(k8s_name(platform))
    alike = [p.name for p in topology.pools if selector and selector.items() <= dict(p.node.node_selector).items()]
    return Outcome(alike[0]) if len(alike) == 1 else _stray(task, platform, names)


def _stray(task: Task, platform: str, names: list[str]) -> Outcome[str]:
    """W465 where one pool takes every platform, W467 where there is a choice."""
    route = (*task.resource_route, "platform")
    if len(names) == 1:
        message = f'the topology has no pool "{platform}"; the pods run in its only one, "{names[0]}"'
        return Outcome("", (warning("W465", route, message, hint="call the pool as the platform"),))
    message = f'platform "{platform}" is no pool of the topology; it has {listing(names, "and")}'
    hint = (
        did_you_mean(platform, names) or "call a pool as the platform, or give OSMO's pool configuration: --osmo-pool"
    )
    return Outcome(None, (error("W467", route, message, hint=hint),))
