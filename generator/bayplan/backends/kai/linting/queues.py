"""Queues: their parents, and who asks for them (M719). Only leaf queues schedule; a verbose log tells of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.kai.linting.parts import API, for_kai, group_of, members, pod_groups
from bayplan.backends.kai.pod_group import QUEUE
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import did_you_mean, suggest
from bayplan.kube.objects import get, name, text, title
from bayplan.linting.objects import LintContext
from bayplan.model.manifest import Object

INSTALLED = {"default-queue": "default-parent-queue"}
"""What KAI's chart installs: the leaf and its parent."""


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M719."""
    queues = {name(one): one for one in context.of(API, "Queue") if name(one)}
    parents = _parents(queues, context)
    for one in queues.values():
        yield from _parent(one, queues, context)
    for group in pod_groups(context):
        queue, route = text(group.data, "spec", "queue"), (*group.route, "spec", "queue")
        if queue:
            yield from _asked(queue, route, parents, queues, context)
        else:
            message = f"{title(group)} is in no queue, and KAI then never looks at it"
            yield error("M719", (*group.route, "spec"), message, hint="add `queue:` with the name of a leaf Queue")
        yield from _differing(group, queue, context)
    yield from _labelled(parents, queues, context)


def _parents(queues: Mapping[str, Object], context: LintContext) -> dict[str, Route]:
    """Queues that have others below them, with the place that says so."""
    found: dict[str, Route] = dict.fromkeys(INSTALLED.values(), ())
    given = context.topology.schedulers.get("kai", {}).get("parentQueue")
    if given:
        found[str(given)] = ("topology", "spec", "schedulers", "kai", "parentQueue")
    for one in queues.values():
        if text(one.data, "spec", "parentQueue"):
            found[text(one.data, "spec", "parentQueue")] = (*one.route, "spec", "parentQueue")
    return found


def _parent(one: Object, queues: Mapping[str, Object], context: LintContext) -> Iterator[Diagnostic]:
    above, route = text(one.data, "spec", "parentQueue"), (*one.route, "spec", "parentQueue")
    if get(one.data, "spec", "resources") is None and context.target.since("kai", "0.14"):
        hint = "add `resources: {gpu: ..., cpu: ..., memory: ...}`; -1 is no limit"
        yield error("M719", (*one.route, "spec"), f"{title(one)} has no `resources`, which KAI requires", hint=hint)
    seen = {name(one)}
    at = above
    while at in queues and at not in seen:
        seen.add(at)
        at = text(queues[at].data, "spec", "parentQueue")
    if at == name(one):
        hint = "KAI drops all queues of the circle: let one have no parent"
        yield error("M719", route, f"{title(one)} is below itself", hint=hint)
    given = str(context.topology.schedulers.get("kai", {}).get("parentQueue") or "")
    if above and above not in queues and above not in (*INSTALLED.values(), given):
        near = did_you_mean(above, [each for each in (*queues, given) if each != name(one)])
        message = f'no Queue "{above}" is among the manifests'
        hint = near or "without its parent KAI drops a queue and all below it"
        yield (warning if near else info)("M719", route, message, hint=hint)


def _asked(
    queue: str, route: Route, parents: Mapping[str, Route], queues: Mapping[str, Object], context: LintContext
) -> Iterator[Diagnostic]:
    """A queue for pods must be a leaf, and one that there is."""
    named = context.topology.queues
    if queue in parents:
        notes = (Note("it is a parent here", parents[queue]),) if parents[queue] else ()
        message = f'"{queue}" is the parent of queues; KAI skips what is in it'
        yield error("M719", route, message, hint="name a leaf queue", notes=notes)
    elif queue not in queues and queue not in INSTALLED:
        known = (*queues, *(named or ()))
        near = did_you_mean(queue, [each for each in known if each not in parents])
        if named is not None and queue not in named:
            message = f'the topology has no queue "{queue}"'
            yield error("M719", route, message, hint=near or suggest(queue, named, "queues"))
        elif named is None and near:
            yield info("M719", route, f'no Queue "{queue}" is among the manifests', hint=near)


def _differing(group: Object, queue: str, context: LintContext) -> Iterator[Diagnostic]:
    """Pods may say one thing and their PodGroup another."""
    for template in members(group, context):
        own = text(template.labels, QUEUE)
        if own and queue and own != queue:
            route: Route = (*template.route, "metadata", "labels", QUEUE)
            message = f'the pods say queue "{own}", and their {title(group)} "{queue}", which decides'
            note = Note("the PodGroup says it here", (*group.route, "spec", "queue"))
            yield warning("M719", route, message, hint="make them the same", notes=(note,))


def _labelled(parents: Mapping[str, Route], queues: Mapping[str, Object], context: LintContext) -> Iterator[Diagnostic]:
    """Pods without a PodGroup of their own: the workload's label, else the pods' (default_grouper.go)."""
    seen: set[Route] = set()
    for template in context.templates:
        if not for_kai(template, context) or group_of(template):
            continue
        for path in ((), template.path):
            queue = text(template.object.data, *path, "metadata", "labels", QUEUE)
            route: Route = (*template.object.route, *path, "metadata", "labels", QUEUE)
            if queue and route not in seen:
                seen.add(route)
                yield from _asked(queue, route, parents, queues, context)
