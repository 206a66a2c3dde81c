"""The annotation: where it stands, what it says, and which networks and interfaces it names (FAB01, 02, 04, 14)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.multus import NETWORKS, bad_interface, unknown_keys
from bayplan.kube.objects import kind, namespace, title
from bayplan.kube.pod import HOST_DNS
from bayplan.kube.safe import get, mapping
from bayplan.kube.templates import Path, PodTemplate
from bayplan.linting.networks.scene import Asking, Scene, asked
from bayplan.linting.world import World
from bayplan.words import did_you_mean, listing

RENAMED = {"gateway": "the key is `default-route`, a list of addresses", "ip": "the key is `ips`, a list"}


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M840 to M843, M845, M853."""
    for template in world.templates:
        yield from _above(template)
        yield from _host(template)
    yield from _members(world, known)
    for each in known.asking:
        yield from _annotation(each)
        yield from _missing(each, known)
        yield from _interfaces(each)


def _above(template: PodTemplate) -> Iterator[Diagnostic]:
    """M840: Multus reads pods, and no controller hands annotations of a Job down to them (multus-cni#404)."""
    for path in above(template):
        route: Route = (*template.object.route, *path, "metadata", "annotations", NETWORKS)
        what = title(template.object) if not path else f"{'.'.join(map(str, path))} of {title(template.object)}"
        message = f"the annotation stands on {what}, and its pods never get it"
        yield error("M840", route, message, hint="put it into `metadata.annotations` of every pod template")


def above(template: PodTemplate) -> list[Path]:
    """Where the annotation stands above a pod template."""
    paths = [template.path[:depth] for depth in range(len(template.path))]
    held = ((path, get(template.object.data, *path) if path else template.object.data) for path in paths)
    return [path for path, data in held if NETWORKS in mapping(data, "metadata", "annotations")]


def _members(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M841: some pods of one workload are on the networks, others with devices are not."""
    attached = {each.template.route for each in known.asking}
    by_object: dict[Route, list[PodTemplate]] = {}
    for template in world.templates:
        if template.owned:
            by_object.setdefault(template.object.route, []).append(template)
    for templates in by_object.values():
        on = [each for each in templates if each.route in attached]
        for each in templates:
            apart = get(each.spec, "hostNetwork") is True  # these can have no network of Multus (M853)
            lacking = sorted(asked(each)) if on and each not in on and not apart else []
            if lacking:
                fabric = {one.resource for one in known.every() if one.resource} & set(lacking)
                message = (
                    f"these pods ask for {listing(lacking, 'and', 3)} and for no network; others of the workload do"
                )
                hint = "a gang talks over networks that all its members have: add the annotation"
                tell = error if fabric else warning
                yield tell("M841", each.route, message, hint=hint)


def _annotation(asking: Asking) -> Iterator[Diagnostic]:
    """M842."""
    for fault in asking.annotation.faults:
        hint = "write namespace/name@interface, several with commas between, or a JSON list of mappings with `name`"
        message = f"Multus refuses the annotation, and no such pod starts: {fault}"
        yield error("M842", asking.route, message, hint=hint)
    for key in unknown_keys(asking.annotation.selections):
        message = f'Multus has no key "{key}" and ignores it'
        yield warning("M842", asking.route, message, hint=RENAMED.get(key, "") or "take it out")


def _missing(asking: Asking, known: Scene) -> Iterator[Diagnostic]:
    """M843: where some networks are described, one that is not among them."""
    titles = [each.title for each in known.every()]
    for selection, found in zip(asking.annotation.selections, asking.found, strict=False):
        if found is not None or not titles:
            continue
        home = namespace(asking.template.object)
        elsewhere = [each.title for each in known.by_name.get(selection.name, ())]
        if elsewhere:
            where = f'namespace "{selection.namespace or home}"'
            message = f'"{selection.name}" is asked for in {where}, and it is {listing(elsewhere)}'
            yield error("M843", asking.route, message, hint=f"write {elsewhere[0]}")
            continue
        near = did_you_mean(selection.title, titles) or did_you_mean(selection.name, known.by_name)
        message = f'nobody describes a network "{selection.title}"'
        hint = near or f"described: {listing(sorted(titles), 'and', 4)}"
        yield (error if near else warning)("M843", asking.route, message, hint=hint)


def _interfaces(asking: Asking) -> Iterator[Diagnostic]:
    """M845."""
    seen: set[str] = set()
    for name in asking.annotation.interfaces():
        why = bad_interface(name) or ("is given to two networks" if name in seen else "")
        seen.add(name)
        if why:
            message = f'the interface "{name}" {why}'
            yield error("M845", asking.route, message, hint="give each network one of its own, such as net1 and net2")


def _host(template: PodTemplate) -> Iterator[Diagnostic]:
    """M853."""
    if get(template.spec, "hostNetwork") is not True:
        return
    if NETWORKS in template.annotations:
        route = (*template.route, "metadata", "annotations", NETWORKS)
        message = "pods on the host's network get no other: Multus is not asked"
        yield error("M853", route, message, hint="remove `hostNetwork`, or the annotation")
    policy = get(template.spec, "dnsPolicy")
    meets = bool(asked(template)) and kind(template.object) != "Pod"
    if policy == "ClusterFirst" or (policy != HOST_DNS and meets):
        message = "pods on the host's network look names up as the host does, and find no Service"
        hint = f"write `dnsPolicy: {HOST_DNS}`"
        here = "dnsPolicy" if policy is not None else "hostNetwork"
        yield warning("M853", (*template.spec_route, here), message, hint=hint)
