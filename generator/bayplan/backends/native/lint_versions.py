"""M780: words of another version of Kubernetes, and templates whose CRD drops them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.native.found import COMPOSITE, POD_GROUP, WORKLOAD, Group, PodSpec, templates
from bayplan.backends.native.scene import Scene
from bayplan.backends.native.tree import COMPONENT, FIRST, LEVELS, TREES
from bayplan.core.diagnostics import Diagnostic, Route, error
from bayplan.kube.objects import get, items

SERVED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    FIRST: {WORKLOAD: ("v1alpha1",)},
    LEVELS: {WORKLOAD: ("v1alpha2",), POD_GROUP: ("v1alpha2",)},
    TREES: {WORKLOAD: ("v1beta1", "v1alpha3"), POD_GROUP: ("v1beta1", "v1alpha3"), COMPOSITE: ("v1alpha3",)},
}
"""Kubernetes -> kind -> the versions of scheduling.k8s.io that have it; no two minors have one in common."""

KEEPS: Mapping[str, tuple[str, str]] = {"JobSet": ("jobset", "0.12"), "LeaderWorkerSet": ("lws", "0.9")}
"""Kind -> its component, and the version since which its CRD has `schedulingGroup` in pod templates."""


def rules(scene: Scene) -> Iterator[Diagnostic]:
    """What the target's API server does not have."""
    for group in scene.groups:
        yield from _served(scene, group)
        yield from _fields(scene, group)
    for each in scene.pods:
        yield from _pod_words(scene, each)


def since(scene: Scene) -> str:
    """The newest version with words of its own that the target has reached; empty below 1.35."""
    return next((version for version in (TREES, LEVELS, FIRST) if scene.target.since(COMPONENT, version)), "")


def _served(scene: Scene, group: Group) -> Iterator[Diagnostic]:
    versions = SERVED.get(since(scene), {}).get(group.kind, ())
    if group.version in versions:
        return
    route = (*group.route[:-1], "apiVersion")
    if not versions:
        message = f"{scene.kubernetes} has no {group.kind}"
        yield error("M780", route, message, hint=f"target Kubernetes {_brought(group.kind)} or later")
        return
    message = f"{scene.kubernetes} has no {group.kind} in scheduling.k8s.io/{group.version}"
    yield error("M780", route, message, hint=f"write scheduling.k8s.io/{versions[0]}, and its fields")


def _brought(kind: str) -> str:
    return next(version for version, kinds in SERVED.items() if kind in kinds)


OLD: Mapping[str, Mapping[str, str]] = {
    LEVELS: {"podGroups": "podGroupTemplates", "workloadRef": "podGroupTemplateRef"},
    TREES: {"podGroups": "podGroupTemplates", "podGroupTemplateRef": "workloadRef"},
}
"""Version -> fields of other versions and what they are called there."""


def _fields(scene: Scene, group: Group) -> Iterator[Diagnostic]:
    for old, new in OLD.get(since(scene), {}).items():
        if old in group.spec:
            yield _renamed(scene, (*group.route, old), group.title, old, new)
    places = [(group.route, group.spec)] + [(each.route, each.spec) for each in templates(group)]
    for route, spec in places:
        mode = get(spec, "disruptionMode")
        if isinstance(mode, str) and since(scene) == TREES:
            yield _renamed(scene, (*route, "disruptionMode"), group.title, f"disruptionMode: {mode}", _mode(mode))
        for i, level in enumerate(items(spec, "schedulingConstraints", "topology")):
            if get(level, "level") is not None and get(level, "key") is None:
                at = (*route, "schedulingConstraints", "topology", i, "level")
                yield _renamed(scene, at, group.title, "level", "key")


def _mode(mode: str) -> str:
    return "disruptionMode: {all: {}}" if mode == "PodGroup" else "disruptionMode: {single: {}}"


def _renamed(scene: Scene, route: Route, title: str, old: str, new: str) -> Diagnostic:
    message = f"{title}: {scene.kubernetes} has no `{old}`; a field that it does not know is dropped or refused"
    return error("M780", route, message, hint=f"write `{new}`")


def _pod_words(scene: Scene, pods: PodSpec) -> Iterator[Diagnostic]:
    """1.35 has `workloadRef` in pods, later versions `schedulingGroup`; either is dropped where it is not known."""
    counted, grouped = get(pods.spec, "workloadRef") is not None, get(pods.spec, "schedulingGroup") is not None
    if counted and since(scene) not in ("", FIRST):
        yield _renamed(
            scene, (*pods.route, "workloadRef"), f"pods of this {pods.kind}", "workloadRef", "schedulingGroup"
        )
    if grouped and since(scene) in ("", FIRST):
        yield _renamed(
            scene, (*pods.route, "schedulingGroup"), f"pods of this {pods.kind}", "schedulingGroup", "workloadRef"
        )
    if grouped and pods.kind in KEEPS and not scene.target.since(*KEEPS[pods.kind]):
        component, version = KEEPS[pods.kind]
        written = scene.target.version(component)
        message = (
            f"the CRD of {pods.kind} {written} drops `schedulingGroup` without a word, so its pods start one by one"
        )
        yield error("M780", (*pods.route, "schedulingGroup"), message, hint=f"use {pods.kind} {version} or later")
