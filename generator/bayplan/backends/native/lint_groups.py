"""M782, M783, M785, M786 and M789: the tree of groups, its counts, its levels and its claims."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.native.found import COMPOSITE, POD_GROUP, WORKLOAD, Group, Key, templates
from bayplan.backends.native.scene import DEEPEST, Scene
from bayplan.core.diagnostics import Diagnostic, Note, Route, error
from bayplan.kube.objects import items, number_in, text
from bayplan.kube.pod import COMPUTE_DOMAIN_API


def rules(scene: Scene) -> Iterator[Diagnostic]:
    """Each group with those around it."""
    channels = dict(_channels(scene))
    for group in scene.groups:
        if group.kind != WORKLOAD:
            yield from _parents(scene, group)
            yield from _finer(scene, group)
        yield from _counts(scene, group)
        for route, key in _keys(group):
            yield from _known(scene, group, route, key)
        yield from _shared_channels(channels, group)


def _parents(scene: Scene, group: Group) -> Iterator[Diagnostic]:
    above = list(scene.above(group))
    at = (*group.route, "parentCompositePodGroupName")
    if group.parent and not above:
        message = f'{group.title} belongs to the CompositePodGroup "{group.parent}", which is not there'
        hint = "name a CompositePodGroup of its namespace; until it exists, no pod of the tree starts"
        yield error("M782", at, message, hint=hint)
    elif group.key in {each.key for each in above if each.kind == group.kind}:
        yield error("M782", at, f"{group.title} is its own ancestor", hint="a tree has a root without a parent")
    elif len(above) >= DEEPEST:
        message = f"{group.title} has {len(above)} groups above it; a tree is {DEEPEST} groups deep at most"
        yield error("M782", at, message, hint="leave out a level")
    elif above and {each.template[1] for each in above} != {group.template[1]}:
        message = f"the tree of {group.title} is made from several Workloads"
        yield error("M782", (*group.route, *group.template[0]), message, hint="one tree comes of one Workload")


def _counts(scene: Scene, group: Group) -> Iterator[Diagnostic]:
    if group.kind == COMPOSITE:
        children = scene.children.get(group.key, ())
        least = number_in(group.spec, "schedulingPolicy", "gang", "minGroupCount")
        if least is not None and len(children) < least:
            yield _never(group, "minGroupCount", least, len(children), "groups")
    if group.kind == POD_GROUP:
        pods = scene.members.get(group.key, ())
        counts = [each.pods for each in pods if each.pods is not None]
        least = number_in(group.spec, "schedulingPolicy", "gang", "minCount")
        if least is not None and pods and len(counts) == len(pods) and sum(counts) < least:
            yield _never(group, "minCount", least, sum(counts), "pods")


def _never(group: Group, word: str, least: int, has: int, what: str) -> Diagnostic:
    message = f"{group.title} waits for {least} {what}, and {has} name it: none of them ever starts"
    return error("M783", (*group.route, "schedulingPolicy", "gang", word), message, hint=f"lower {word}, or add {what}")


def _keys(group: Group) -> Iterator[tuple[Route, str]]:
    """The levels that a group or its templates name."""
    for route, spec in [(group.route, group.spec)] + [(each.route, each.spec) for each in templates(group)]:
        for i, level in enumerate(items(spec, "schedulingConstraints", "topology")):
            if key := text(level, "key"):
                yield (*route, "schedulingConstraints", "topology", i, "key"), key


def _known(scene: Scene, group: Group, route: Route, key: str) -> Iterator[Diagnostic]:
    """A node without the label is left out, so a label that no node carries leaves none (topology_placement.go)."""
    if scene.levels and key not in scene.levels:
        known = ", ".join(f'"{each}"' for each in scene.levels)
        message = f'{group.title} is placed by "{key}", a label that no node of the cluster carries'
        yield error("M785", route, message, hint=f"name one of {known}")


def _finer(scene: Scene, group: Group) -> Iterator[Diagnostic]:
    """Levels are resolved from the root down, so an inner one that is not finer constrains nothing, or too much."""
    levels = scene.levels
    outer = next((each for each in scene.above(group) if each.label), None)
    if outer and group.label in levels and levels[group.label] <= levels.get(outer.label, -1):
        here = (*group.route, "schedulingConstraints", "topology", 0, "key")
        there = (*outer.route, "schedulingConstraints", "topology", 0, "key")
        message = f'{group.title} is placed by "{group.label}", which is no finer than "{outer.label}" of {outer.title}'
        hint = "place inner groups by a finer level, or leave the level out"
        yield error("M786", here, message, hint=hint, notes=(Note(outer.title, there),))


def _channels(scene: Scene) -> Iterator[tuple[Key, str]]:
    """The claim templates of ComputeDomains."""
    for each in scene.objects:
        if text(each.data, "apiVersion") == COMPUTE_DOMAIN_API and text(each.data, "kind") == "ComputeDomain":
            name = text(each.data, "spec", "channel", "resourceClaimTemplate", "name")
            yield (text(each.data, "metadata", "namespace") or "default", name), text(each.data, "metadata", "name")


def _shared_channels(channels: dict[Key, str], group: Group) -> Iterator[Diagnostic]:
    """A claim of a group is one claim for all of its pods, and an IMEX channel is a device of one node (KEP-5729)."""
    places = [(group.route, group.spec)] + [(each.route, each.spec) for each in templates(group)]
    for route, spec in places:
        for i, claim in enumerate(items(spec, "resourceClaims")):
            domain = channels.get((group.namespace, text(claim, "resourceClaimTemplateName")))
            if domain:
                message = (
                    f'{group.title} shares one channel of the ComputeDomain "{domain}" among its pods, and a channel'
                    " belongs to one node: pods on other nodes never start"
                )
                yield error("M789", (*route, "resourceClaims", i), message, hint="claim the channel in the pods alone")
