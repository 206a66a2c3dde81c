"""KAI's Topologies: alone (M713) and against the nodes (M714)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bayplan.backends.kai.linting.parts import KAI_TOPOLOGY, KUEUE_TOPOLOGY
from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import did_you_mean
from bayplan.kube.objects import items, text, title
from bayplan.linting.objects import LintContext
from bayplan.linting.workloads import WELL_KNOWN
from bayplan.model.manifest import Object
from bayplan.model.topology import HOST, HOSTNAME_LABEL, Pool

MOST = 16


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M713 and M714. KAI 0.10 reads Kueue's Topologies, which Kueue's rules are about."""
    own = context.target.since("kai", "0.12")
    for one in context.of(*KAI_TOPOLOGY):
        if not own:
            message = f"KAI {context.target.version('kai')} has no Topology of its own and reads Kueue's"
            yield error("M713", (*one.route, "apiVersion"), message, hint="use kueue.x-k8s.io/v1alpha1, or KAI 0.12")
            continue
        yield from _shape(one, context)
        yield from _nodes(one, context)
    for one in () if own else context.of(*KUEUE_TOPOLOGY):
        yield from _nodes(one, context)


def _shape(one: Object, context: LintContext) -> Iterator[Diagnostic]:
    """The CRD with its CEL rules, and the webhook for aliases (0.17, topology_validator.go)."""
    levels = items(one.data, "spec", "levels")
    route: Route = (*one.route, "spec", "levels")
    if not 1 <= len(levels) <= MOST:
        message = f"{title(one)} has {len(levels) or 'no'} levels; 1 to {MOST} are allowed"
        yield error("M713", route, message, hint="list node labels from coarse to fine: `- nodeLabel: ...`")
    labels = [text(each, "nodeLabel") for each in levels]
    aliases = [text(each, "alias") for each in levels]
    for index, (label, alias) in enumerate(zip(labels, aliases, strict=True)):
        here: Route = (*route, index, "nodeLabel")
        if not label:
            yield error("M713", (*route, index), "this level has no `nodeLabel`", hint="a level is a label of nodes")
        elif label in labels[:index]:
            yield error("M713", here, f'"{label}" is a level twice', hint="remove one of them")
        elif label == HOSTNAME_LABEL and index < len(levels) - 1:
            message = f'"{label}" is the finest level there is, and others follow'
            yield error("M713", here, message, hint="move it to the end")
        if alias:
            yield from _alias(alias, aliases[:index], labels, (*route, index, "alias"), context)


def _alias(
    alias: str, before: Sequence[str], labels: Sequence[str], route: Route, context: LintContext
) -> Iterator[Diagnostic]:
    if not context.target.since("kai", "0.17"):
        message = f"KAI {context.target.version('kai')} has no aliases, and constraints that use this one name no level"
        yield warning("M713", route, message, hint="write the node label in constraints, or use KAI 0.17")
    elif alias in before:
        yield error("M713", route, f'two levels have the alias "{alias}"', hint="rename one")
    elif alias in labels:
        yield error("M713", route, f'the alias "{alias}" is the node label of a level', hint="remove it")


def _nodes(one: Object, context: LintContext) -> Iterator[Diagnostic]:
    """A node that lacks any of the labels is invisible to the Topology (pkg/scheduler/plugins/topology)."""
    pools = [pool for pool in context.topology.pools if pool.domains]
    known = context.labels()
    route: Route = (*one.route, "spec", "levels")
    labels = [text(each, "nodeLabel") for each in items(one.data, "spec", "levels")]
    unknown = [(index, label) for index, label in enumerate(labels) if label and label not in known]
    for index, label in unknown if pools else ():
        message = f'no node carries the label "{label}", and a node without it belongs to no domain of {title(one)}'
        hint = did_you_mean(label, known) or "if nodes do carry it, add the level to the topology file"
        found = warning if label in WELL_KNOWN else error
        yield found("M714", (*route, index, "nodeLabel"), message, hint=hint)
    if not unknown and pools:
        yield from _order(one, labels, pools, route)
        yield from _merged(one, labels, pools, route)


def _order(one: Object, labels: Sequence[str], pools: Sequence[Pool], route: Route) -> Iterator[Diagnostic]:
    whole = [pool for pool in pools if set(labels) <= {level.label for level in (*pool.levels, HOST)}]
    if not whole:
        message = f"the nodes of no pool carry all levels of {title(one)}"
        yield error("M714", route, message, hint="make one Topology for each list of levels")
        return
    for pool in whole:
        order = [level.label for level in (*pool.levels, HOST)]
        for index, (outer, inner) in enumerate(pairwise(labels)):
            if order.index(outer) > order.index(inner):
                message = f'"{outer}" stands above "{inner}", and in pool "{pool.name}" it is the finer one'
                yield error("M714", (*route, index, "nodeLabel"), message, hint="list the levels from coarse to fine")
                return


def _merged(one: Object, labels: Sequence[str], pools: Sequence[Pool], route: Route) -> Iterator[Diagnostic]:
    """KAI tells domains apart by their values joined with dots, and values may hold dots (topology_structs.go)."""
    seen: dict[str, tuple[str, ...]] = {}
    for pool in pools:
        chosen = [index for index, level in enumerate(pool.levels) if level.label in labels]
        for domain in pool.domains:
            path = tuple(domain.path[index] for index in chosen if index < len(domain.path))
            for depth in range(1, len(path) + 1):
                joined = ".".join(path[:depth])
                if seen.setdefault(joined, path[:depth]) != path[:depth]:
                    message = f'KAI takes "{"/".join(path[:depth])}" and "{"/".join(seen[joined])}" for one domain'
                    yield error("M714", route, f"{message} of {title(one)}", hint="avoid dots in the labels' values")
                    return
