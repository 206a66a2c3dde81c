"""Claims of pods for KAI: forms that its allocator does not know, and shared claims without a queue (M819)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.kai.linting.parts import for_kai
from bayplan.backends.kai.pod_group import QUEUE
from bayplan.core.diagnostics import Diagnostic, Note, Route, error
from bayplan.kube.objects import get, items, named, namespace, text, title
from bayplan.linting.claims import claims
from bayplan.linting.objects import LintContext
from bayplan.model.manifest import Object

API = "resource.k8s.io"


def check(context: LintContext) -> Iterator[Diagnostic]:
    """KAI#2100: up to 0.17 the allocator is built with no feature of DRA but the plain request."""
    seen: set[Route] = set()
    for template in context.templates:
        if not for_kai(template, context):
            continue
        for route, each in claims(template):
            for kind, key in (
                ("ResourceClaimTemplate", "resourceClaimTemplateName"),
                ("ResourceClaim", "resourceClaimName"),
            ):
                asked = text(each, key)
                found = context.find(API, kind, asked, namespace(template.object)) if asked else []
                for one in found[:1]:
                    if one.route not in seen:
                        seen.add(one.route)
                        yield from _forms(one, route, context)
                        yield from _shared(one, route, context)


def _forms(one: Object, user: Route, context: LintContext) -> Iterator[Diagnostic]:
    if context.target.since("kai", "0.18"):
        return
    inner = ("spec", "spec", "devices") if text(one.data, "kind") == "ResourceClaimTemplate" else ("spec", "devices")
    note = Note("pods for KAI claim it here", user)
    for index, each in enumerate(items(one.data, *inner, "requests")):
        for path in (("firstAvailable",), ("adminAccess",), ("exactly", "adminAccess"), ("exactly", "capacity")):
            if get(each, *path) not in (None, False):
                route = (*one.route, *inner, "requests", index, *path)
                message = f"KAI up to 0.17 does not allocate requests with `{path[-1]}`"
                yield error("M819", route, message, hint="ask for one class with `exactly`", notes=(note,))


def _shared(one: Object, user: Route, context: LintContext) -> Iterator[Diagnostic]:
    """Since 0.13 a claim that pods share counts for the queue that its label names."""
    if text(one.data, "kind") != "ResourceClaim" or not context.target.since("kai", "0.13"):
        return
    classes = [
        text(each, *path)
        for each in items(one.data, "spec", "devices", "requests")
        for path in (("deviceClassName",), ("exactly", "deviceClassName"))
    ]
    if any("gpu" in each for each in classes) and not get(one.data, "metadata", "labels", QUEUE):
        message = f"{title(one)} is shared by pods for KAI and names no queue"
        note = Note("pods for KAI claim it here", user)
        yield error("M819", named(one), message, hint=f"label it {QUEUE} with the queue of the pods", notes=(note,))
