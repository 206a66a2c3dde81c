"""Subgroups: names and parents (M715)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.backends.kai.linting.parts import Node, ancestors, pod_groups, subgroups
from bayplan.core.diagnostics import Diagnostic, Note, error
from bayplan.core.phrases import shorten, suggest
from bayplan.kube.objects import items, text, title
from bayplan.linting.objects import LintContext
from bayplan.model.manifest import Object

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LONGEST = 63


def check(context: LintContext) -> Iterator[Diagnostic]:
    """What the webhook refuses (podgroup_webhook.go), and names that no pod can carry as a label."""
    for group in pod_groups(context):
        for index, each in enumerate(items(group.data, "spec", "subGroups")):
            if not text(each, "name"):
                yield error("M715", (*group.route, "spec", "subGroups", index), "this subgroup has no name")
        seen: dict[str, Node] = {}
        for node in subgroups(group):
            yield from _name(node)
            first = seen.setdefault(node.name, node)
            if first is not node:
                note = Note("the first is here", (*first.route, "name"))
                message = f'{title(group)} has two subgroups "{shorten(node.name)}"'
                yield error("M715", (*node.route, "name"), message, hint="rename one", notes=(note,))
        for node in seen.values():
            yield from _parent(group, node, seen)


def _name(node: Node) -> Iterator[Diagnostic]:
    """Pods carry it as a label; since 0.15 the CRD wants a DNS label."""
    if len(node.name) > LONGEST or not LABEL.fullmatch(node.name):
        message = f'"{shorten(node.name)}" cannot be the name of a subgroup'
        hint = f"use lower-case letters, digits and hyphens, {LONGEST} at most"
        yield error("M715", (*node.route, "name"), message, hint=hint)


def _parent(group: Object, node: Node, nodes: dict[str, Node]) -> Iterator[Diagnostic]:
    if node.parent and node.parent not in nodes:
        message = f'{title(group)} has no subgroup "{shorten(node.parent)}"'
        hint = suggest(node.parent, [each for each in nodes if each != node.name], "subgroups")
        yield error("M715", (*node.route, "parent"), message, hint=hint)
    above = list(ancestors(node, nodes))
    if node.parent == node.name or (above and above[-1].parent == node.name):
        message = f'subgroup "{shorten(node.name)}" is its own ancestor'
        yield error("M715", (*node.route, "parent"), message, hint="a subgroup without `parent` ends the chain")
