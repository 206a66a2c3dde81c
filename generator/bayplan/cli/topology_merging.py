"""Merges several sources, and merges them with a topology file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bayplan import pipeline
from bayplan.cli import topology_sources
from bayplan.cli.topology_sources import Picked
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, moved, origin, warning
from bayplan.core.phrases import count, listing
from bayplan.fabrics.cards import with_proposed
from bayplan.model.formats import Part, ReadOptions
from bayplan.model.target import minor, order
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.report import Batch
from bayplan.text.document import Document
from bayplan.topologies import merging
from bayplan.topologies.unit_names import slurm_names


def together(picked: Sequence[Picked], request: ReadOptions, batches: list[Batch]) -> Part | None:
    """The merged sources. None if one has errors, or they contradict each other."""
    parts, read_batches = topology_sources.gather(picked, request)
    batches += read_batches
    merged = merging.merge(parts) if parts else None
    batches += [_quoted(merged.diagnostics, picked)] if merged else []
    if merged and merged.value and not merged.value.topology.pools:
        hint = "add the output of `kubectl get nodes -o json`"
        empty = error("T516", picked[0].file.at(), "the sources describe no nodes and no pools", hint=hint)
        batches.append(_quoted((empty,), picked))
        return None
    if merged and merged.value and len(picked) > 1:
        batches[:] = _unsettled(batches, merged.value.topology, picked)
    return merged.value._replace(topology=with_proposed(merged.value.topology)) if merged and merged.value else None


def _unsettled(batches: Sequence[Batch], topology: ClusterTopology, picked: Sequence[Picked]) -> list[Batch]:
    """Drops findings about what one source lacks, and another one or the file has."""
    unlabeled = [f'"{level.label}"' for pool in topology.pools for level in pool.levels if level.apply]
    flat = [f'pool "{pool.name}" has no levels' for pool in topology.pools if not pool.levels]
    uncounted = [f'pool "{pool.name}"' for pool in topology.pools if not pool.node.accelerators]
    unread = [f'from "{each.name}"' for file in picked for each in file.formats]

    def still_true(each: Diagnostic) -> bool:
        message = each.message
        if each.code == "W497":  # OSMO has no nodes
            return not all(pool.domains for pool in topology.pools)
        if each.code == "T482":  # Slurm has no labels
            return any(label in message for label in unlabeled)
        if each.code == "T518" and "has no levels" in message:
            return any(pool in message for pool in flat)
        if each.code == "T593" and "unknown version" in message:
            return any(name not in topology.versions for name in re.findall('"([^"]+)"', message))
        if each.code == "T593" and "writes the lowest" in message:
            return any(f'has {name} "{version}"' in message for name, version in topology.versions.items())
        if each.code == "T617" and "no number of GPUs" in message:
            return any(pool in message for pool in uncounted)
        return each.code != "T568" or not any(name in message for name in unread)

    return [batch._replace(diagnostics=tuple(filter(still_true, batch.diagnostics))) for batch in batches]


def over(
    old: ClusterTopology, document: Document, picked: Sequence[Picked], request: ReadOptions, batches: list[Batch]
) -> ClusterTopology | None:
    """The cluster of the sources, with the pools and levels of the file.

    bayplan matches networks without labels by their nodes. They can only add to the file.
    """
    frames = tuple(pool._replace(domains=(), unusable={}) for pool in old.pools if _tells_nodes(pool))
    parts, read_batches = topology_sources.gather(picked, request._replace(frames=frames, fixed_levels=True))
    batches += read_batches
    if parts is None:
        return None
    outdated = tuple(_outdated(old, parts))
    parts = tuple(part._replace(topology=part.topology._replace(versions={})) for part in parts)
    file_part = Part(old._replace(pools=frames), aliases=slurm_names(old), source=document.name)
    merged = merging.merge((file_part, *parts)) if frames else Outcome[Part](None)
    merged = Outcome(merged.value, tuple(each for each in merged.diagnostics if each.code != "T437"))  # T439 reports it
    pools = merged.value.topology.pools if merged.value else ()
    if not {pool.name for pool in pools if pool.domains} & {pool.name for pool in frames}:
        stale = topology_sources.states(picked)
        kept = (_without_states(pool, stale) for pool in old.pools)
        own = file_part._replace(topology=old._replace(pools=tuple(kept)), places=_places(old))
        merged = merging.merge((own, *parts))
        still_true = tuple(
            each for each in merged.diagnostics if each.code != "T446"
        )  # T439 reports it for all sources
        merged = Outcome(merged.value, (*still_true, *_unnamed(old, merged.value, parts)))
    if merged.value:
        old_nodes = _places(old)
        added = (each for each in merged.value.topology.pools if old_nodes.keys().isdisjoint(each.nodes()))
        batches[:] = _unsettled(batches, old._replace(pools=(*old.pools, *added)), picked)
    batch = _quoted((*outdated, *merged.diagnostics), picked)
    batches.append(batch._replace(sources={**batch.sources, "topology": document}))
    problems = pipeline.topology_findings(merged.value.topology) if merged.value else ()
    if merged.value is None or has_errors(problems):
        batches += [at_sources(problems, merged.value, picked)] if merged.value else []
        return None
    return merged.value.topology


def _outdated(old: ClusterTopology, parts: Sequence[Part]) -> Iterator[Diagnostic]:
    """T593: a source has a newer version than the file, whose `versions` stay."""
    for part in parts:
        for name, version in part.topology.versions.items():
            own = old.versions.get(name, version)
            if order(name, minor(version)) > order(name, minor(own)):
                message = f"the cluster has {name} {version} in {part.source}, and the file says {own}"
                route = ("topology", "spec", "versions", name)
                yield warning("T593", route, message, hint=f'write `{name}: "{version}"` in `versions` of the file')


def _without_states(pool: Pool, states: frozenset[str]) -> Pool:
    """The pool without the unusable nodes that the sources list themselves."""
    return pool._replace(unusable={reason: nodes for reason, nodes in pool.unusable.items() if reason not in states})


def _tells_nodes(pool: Pool) -> bool:
    """Whether the pool can select nodes from a list. A pool that comes only from a network has no labels for that."""
    promised = any(level.apply for level in pool.levels) and not pool.node.node_selector
    return not (promised or (not pool.levels and not pool.node.described))


def _unnamed(old: ClusterTopology, merged: Part | None, parts: Sequence[Part]) -> Iterator[Diagnostic]:
    """T439: nodes of the file that no source has. They stay, because a network may lack nodes of the cluster."""
    names = merged.aliases if merged else {}
    known_nodes = {names.get(node, node) for part in parts for pool in part.topology.pools for node in pool.nodes()}
    missing = [node for pool in old.pools for node in pool.nodes() if node not in known_nodes]
    if missing and known_nodes:
        message = f"{nodes_are(missing, ' of the file')} not in the sources"
        hint = "a network source removes no nodes: if nodes have left the cluster, add the list of nodes as a source"
        yield warning("T439", ("topology", "spec", "pools"), message, hint=hint)


def nodes_are(nodes: Sequence[str], of: str = "") -> str:
    """`2 nodes (n1 and n2) are`."""
    return f"{count(len(nodes), 'node')}{of} ({listing(nodes, 'and', most=5)}) {'is' if len(nodes) == 1 else 'are'}"


def _places(topology: ClusterTopology) -> dict[str, Route]:
    """Node -> its route in the file."""
    return {
        node: ("topology", "spec", "pools", p, "domains", d, "nodes")
        for p, pool in enumerate(topology.pools)
        for d, domain in enumerate(pool.domains)
        for node in domain.nodes
    }


def _quoted(diagnostics: tuple[Diagnostic, ...], picked: Sequence[Picked]) -> Batch:
    """Diagnostics of the sources, with all of their documents."""
    sources: dict[str, Document] = {}
    for each in picked if diagnostics else ():
        sources.update(each.file.batch(diagnostics).sources)
    return Batch(diagnostics, sources)


def at_sources(diagnostics: tuple[Diagnostic, ...], merged: Part, picked: Sequence[Picked]) -> Batch:
    """The diagnostics of the result, at the place in a source of the first node concerned."""
    places = dict(_origins(merged, picked[0].file.at())) if diagnostics else {}

    def nearest(route: Route) -> Route:
        """The place of the nearest part of the result that has one."""
        return (origin(route, places) or ((), ()))[0]

    return _quoted(tuple(moved(each, nearest) for each in diagnostics), picked)


def _origins(merged: Part, first: Route) -> Iterator[tuple[Route, Route]]:
    """Route of a pool or a domain -> the place of its first node in a source. Of other parts -> the first source."""
    yield ("topology",), first
    for p, pool in enumerate(merged.topology.pools):
        firsts = [
            next((merged.places[node] for node in each.nodes if node in merged.places), ()) for each in pool.domains
        ]
        yield from ((("topology", "spec", "pools", p, "domains", d), at) for d, at in enumerate(firsts) if at)
        yield from ((("topology", "spec", "pools", p), at) for at in firsts[:1] if at)
