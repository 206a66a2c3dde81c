"""How many pods and subgroups must start (M716)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.backends.kai.linting.parts import Node, leaves, pod_groups, root, subgroups
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.core.phrases import count
from bayplan.kube.objects import get, number_in, text, title
from bayplan.linting.objects import LintContext
from bayplan.model.manifest import Object

KEYS = ("minMember", "minSubGroup")


def check(context: LintContext) -> Iterator[Diagnostic]:
    """Since 0.15 the webhook refuses most of it; before, KAI looked at leaves alone and said nothing."""
    for group in pod_groups(context):
        nodes = list(subgroups(group))
        for node in (root(group), *nodes):
            children = [each for each in nodes if each.parent == node.name]
            yield from _numbers(node, context)
            if context.target.since("kai", "0.15"):
                yield from _either(group, node, children)
        yield from _sum(group, nodes)
        yield from _stale(group, nodes, context)


def _numbers(node: Node, context: LintContext) -> Iterator[Diagnostic]:
    """The CRD's least numbers: 1 at the root up to 0.17, 1 at leaves up to 0.14."""
    least = 1 if not node.name or not context.target.since("kai", "0.15") else 0
    for key in KEYS:
        value = get(node.data, key)
        given = number_in(node.data, key)
        if value is not None and (given is None or given < least):
            yield error("M716", (*node.route, key), f"`{key}` must be a whole number, {least} or more")


def _either(group: Object, node: Node, children: Sequence[Node]) -> Iterator[Diagnostic]:
    pods, groups = (get(node.data, key) is not None for key in KEYS)
    what = node.title(group)
    if pods and groups:
        hint = "`minMember` is for leaves, `minSubGroup` for what has subgroups; keep one"
        yield error("M716", (*node.route, "minSubGroup"), f"{what} has both `minMember` and `minSubGroup`", hint=hint)
    elif node.name and children and pods:
        hint = "remove it: all its subgroups must start, or `minSubGroup` of them"
        yield error("M716", (*node.route, "minMember"), f"{what} has subgroups, so it takes no `minMember`", hint=hint)
    elif not children and groups:
        hint = "write `minMember` instead"
        yield error("M716", (*node.route, "minSubGroup"), f"{what} has no subgroups to count", hint=hint)
    elif node.name and not children and not pods:
        yield error("M716", node.route, f"{what} does not say how many pods must start", hint="add `minMember`")
    wanted = number_in(node.data, "minSubGroup")
    if wanted is not None and children and wanted > len(children):
        message = f"{what} waits for {wanted} subgroups and has {len(children)}, so it never starts"
        yield error("M716", (*node.route, "minSubGroup"), message, hint=f"set {len(children)}, or leave it out")


def _sum(group: Object, nodes: Sequence[Node]) -> Iterator[Diagnostic]:
    """With subgroups KAI does not look at the root's number (job_info.go)."""
    least = [number_in(node.data, "minMember") for node in leaves(group).values()]
    own = number_in(group.data, "spec", "minMember")
    optional = any(get(node.data, "minSubGroup") is not None for node in (root(group), *nodes))
    if own is None or not least or None in least or optional:
        return
    total = sum(each for each in least if each is not None)
    if own != total:
        message = f"{title(group)} has minMember {own}, and the minimums of its subgroups add up to {total}"
        hint = f"KAI looks at the subgroups alone; set {total}, so that readers are not misled"
        yield warning("M716", (*group.route, "spec", "minMember"), message, hint=hint)


def _stale(group: Object, nodes: Sequence[Node], context: LintContext) -> Iterator[Diagnostic]:
    """A gang that runs without optional leaves counts as stale, since that test knows no minSubGroup
    (pkg/scheduler/actions/stalegangeviction)."""
    if text(group.data, "spec", "stalenessGracePeriod").startswith("-") or not context.target.since("kai", "0.15"):
        return
    for node in (root(group), *nodes):
        children = [each for each in nodes if each.parent == node.name]
        wanted = number_in(node.data, "minSubGroup")
        if wanted is not None and wanted < len(children):
            message = (
                f"{node.title(group)} may start with {wanted} of {count(len(children), 'subgroup')}, and KAI evicts"
            )
            newer = context.target.since("kai", "0.17")
            hint = 'set `stalenessGracePeriod: "-1s"`' if newer else "require all subgroups, or use KAI 0.17"
            yield warning("M716", (*node.route, "minSubGroup"), f"{message} it after a minute as stale", hint=hint)
