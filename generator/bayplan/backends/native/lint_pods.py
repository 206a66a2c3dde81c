"""M787 and M788: the pods that name groups."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.native.found import POD_GROUP, WORKLOAD, Key, PodSpec
from bayplan.backends.native.scene import Scene
from bayplan.core.diagnostics import Diagnostic, Note, error
from bayplan.kube.objects import get, items, text

DEFAULT = "default-scheduler"


def rules(scene: Scene) -> Iterator[Diagnostic]:
    """The group that pods name, and what all pods of a tree have in common."""
    for pods in scene.pods:
        yield from _group(scene, pods)
    yield from _trees(scene)


def _group(scene: Scene, pods: PodSpec) -> Iterator[Diagnostic]:
    """The scheduler holds pods back until their group exists (PreEnqueue), without an end."""
    if pods.group and (pods.namespace, pods.group) not in scene.named[POD_GROUP]:
        at = (*pods.route, "schedulingGroup", "podGroupName")
        message = f'these pods belong to the PodGroup "{pods.group}", which is not there: they would wait for ever'
        yield error("M787", at, message, hint="name a PodGroup of their namespace")
    if pods.workload:
        yield from _counted(scene, pods)


def _counted(scene: Scene, pods: PodSpec) -> Iterator[Diagnostic]:
    """1.35: a pod names a pod group inside a Workload."""
    workload = scene.named[WORKLOAD].get((pods.namespace, pods.workload))
    wanted = text(pods.spec, "workloadRef", "podGroup")
    inside = {text(each, "name") for each in items(workload.spec, "podGroups")} if workload else set()
    if wanted not in inside:
        where = (
            f'the Workload "{pods.workload}" has no pod group "{wanted}"' if workload else "there is no such Workload"
        )
        message = f'these pods belong to the pod group "{wanted}" of "{pods.workload}", but {where}'
        yield error("M787", (*pods.route, "workloadRef"), message, hint="name a pod group that the Workload lists")


def _trees(scene: Scene) -> Iterator[Diagnostic]:
    """kube-scheduler refuses a tree whose pods name several schedulers, or differ from their group in priority."""
    groups = scene.named[POD_GROUP]
    first: dict[Key, PodSpec] = {}
    for key, members in scene.members.items():
        group = groups.get(key)
        root = scene.root(group).key if group else key
        for pods in members:
            before = first.setdefault(root, pods)
            yield from _alike(before, pods)
            named = text(group.spec, "priorityClassName") if group else ""
            if group and named and named != text(pods.spec, "priorityClassName"):
                own = text(pods.spec, "priorityClassName") or "none"
                message = f'pods of {group.title} have the priority class "{own}", and the group has "{named}"'
                at = (*pods.route, *(("priorityClassName",) if own != "none" else ()))
                yield error("M788", at, message, hint="give the pods the priority class of their group")


def _alike(first: PodSpec, pods: PodSpec) -> Iterator[Diagnostic]:
    one, other = (text(each.spec, "schedulerName") or DEFAULT for each in (first, pods))
    if one != other:
        at = (*pods.route, *(("schedulerName",) if get(pods.spec, "schedulerName") else ()))
        message = f'pods of one tree of groups name the schedulers "{one}" and "{other}"; neither starts them'
        yield error("M788", at, message, hint="name one scheduler in all of them", notes=(Note(one, first.route),))
