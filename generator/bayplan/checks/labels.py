"""Names and labels of pools and levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.checks.nodes import POOLS
from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.model.topology import HOST_LEVEL, HOSTNAME_LABEL, ClusterTopology, Pool
from bayplan.schemas.patterns import LABEL_VALUE, is_dns_subdomain

LONGEST = 63
"""Characters of a label value, or of a label key behind its slash (apimachinery pkg/util/validation)."""


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T412, T413, T416, T417, T418."""
    yield from _twins([pool.name for pool in topology.pools], POOLS, "name", "T416", "pools are called")
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index, "levels")
        yield from _twins([level.name for level in pool.levels], route, "name", "T417", "levels are called")
        yield from _twins([level.label for level in pool.levels], route, "label", "T417", "levels have the label")
        yield from _reserved(pool, route)
        yield from _keys(pool, route)
        yield from _values(pool, (*POOLS, index, "domains"))
    yield from _dots(topology)


def _twins(names: Iterable[str], route: Route, key: str, code: str, what: str) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            notes = (Note("the first is here", (*route, first[name], key)),)
            yield error(code, (*route, index, key), f'two {what} "{name}"', hint="change one of them", notes=notes)


def _reserved(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, level in enumerate(pool.levels):
        for key, value, own in (("name", level.name, HOST_LEVEL), ("label", level.label, HOSTNAME_LABEL)):
            if value == own:
                message = f'"{own}" belongs to the level of the single node, which every pool ends in by itself'
                yield error("T418", (*route, index, key), message, hint="remove this level")


def _keys(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, level in enumerate(pool.levels):
        prefix, slash, name = level.label.rpartition("/")
        if not (_is_value(name) and (not slash or is_dns_subdomain(prefix))):
            message = f'"{level.label[:80]}" cannot be a label key'
            hint = "write it like `topology.kubernetes.io/zone`, with at most 63 characters behind the slash"
            yield error("T412", (*route, index, "label"), message, hint=hint)


def _is_value(text: str) -> bool:
    return LABEL_VALUE.search(text) and len(text) <= LONGEST


def _values(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, domain in enumerate(pool.domains):
        bad = [value for value in domain.path if not _is_value(value)]
        if bad:
            message = f'"{bad[0][:80]}" cannot be a label value' if bad[0] else "a part of the path is empty"
            hint = "use at most 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends"
            yield error("T412", (*route, index, "path"), message, hint=hint)


def _dots(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """KAI knows a domain by its label values joined with dots (KAI pkg/scheduler/plugins/topology)."""
    report = error if _uses_kai(topology) else warning
    first: dict[tuple[tuple[str, ...], str], tuple[tuple[str, ...], Route]] = {}
    for p, pool in enumerate(topology.pools):
        if not any("." in part for domain in pool.domains for part in domain.path):
            continue
        labels = tuple(level.label for level in pool.levels)
        for d, domain in enumerate(pool.domains):
            for depth in range(1, len(domain.path) + 1):
                path, route = domain.path[:depth], (*POOLS, p, "domains", d, "path")
                other, place = first.setdefault((labels[:depth], ".".join(path)), (path, route))
                if other != path:
                    message = f'KAI takes "{"/".join(path)}" and "{"/".join(other)}" for one domain: it joins by dots'
                    yield report(
                        "T413", route, message, hint="use labels without dots", notes=(Note("the other", place),)
                    )


def _uses_kai(topology: ClusterTopology) -> bool:
    return topology.defaults.get("scheduler") == "kai" or "kai" in (*topology.schedulers, *topology.versions)
