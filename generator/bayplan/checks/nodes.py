"""Node names: each once, spelled as Kubernetes spells them, and known where they are called unusable."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.schemas.patterns import are_dns_subdomains, is_dns_subdomain
from bayplan.words import did_you_mean, listing

POOLS: Route = ("topology", "spec", "pools")


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T401, T415, T419, T425, T427."""
    yield from _twice(topology)
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        if not any(domain.nodes for domain in pool.domains):
            yield warning(
                "T425", (*route, "domains"), f'pool "{pool.name}" has no nodes', hint="list them, or leave the pool out"
            )
        yield from _spelling(pool, route)
        yield from _unusable(pool, route)


def _twice(topology: ClusterTopology) -> Iterator[Diagnostic]:
    places = [
        ((*POOLS, p, "domains", d, "nodes"), domain.nodes)
        for p, pool in enumerate(topology.pools)
        for d, domain in enumerate(pool.domains)
    ]
    names = [name for _, nodes in places for name in nodes]
    if len(set(names)) == len(names):
        return
    first: dict[str, Route] = {}
    for route, nodes in places:
        again: dict[Route, list[str]] = {}
        for name in nodes:
            if name in first:
                again.setdefault(first[name], []).append(name)
            first.setdefault(name, route)
        for other, twice in again.items():
            where = "twice in this list" if other == route else "in two domains"
            message = f"{_nodes(twice)} {where}; a node has one place"
            notes = () if other == route else (Note("also here", other),)
            yield error("T401", route, message, hint="remove one of them", notes=notes)


def _nodes(names: list[str]) -> str:
    verb = "node {} is" if len(names) == 1 else "nodes {} are"
    return verb.format(listing(names, "and", most=5))


def _spelling(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """Node names are DNS subdomains (Kubernetes pkg/apis/core/validation: ValidateNodeName)."""
    if are_dns_subdomains([name for domain in pool.domains for name in domain.nodes]):
        return
    for index, domain in enumerate(pool.domains):
        bad = [name for name in domain.nodes if not is_dns_subdomain(name)]
        if bad:
            message = f"{listing([name[:80] for name in bad], 'and', most=3)} cannot be the name of a Kubernetes node"
            hint = "use the names that `kubectl get nodes` prints: lower-case letters, digits, dashes and dots"
            yield error("T415", (*route, "domains", index, "nodes"), message, hint=hint)


def _unusable(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    if not pool.unusable:
        return
    known = {name for domain in pool.domains for name in domain.nodes}
    reasons: dict[str, str] = {}
    for reason, names in pool.unusable.items():
        here: Route = (*route, "unusable", reason)
        unknown = [name for name in names if name not in known]
        if unknown:
            message = f'{_nodes(unknown)} in no domain of pool "{pool.name}"'
            yield error("T419", here, message, hint=did_you_mean(unknown[0], known) or "check the names")
        twice = [name for name in names if reasons.setdefault(name, reason) != reason]
        if twice:
            message = f'{_nodes(twice)} both "{reasons[twice[0]]}" and "{reason}"'
            yield warning("T427", here, message, hint="one reason is enough")
