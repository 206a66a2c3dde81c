"""`bayplan topology import`: a cluster topology out of what other systems say, or what they say laid over one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan import pipeline
from bayplan.cli import inputs, osmo_pool, output, topology_sources
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.cli.topology_sources import Picked
from bayplan.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.document import Document
from bayplan.emit import emit
from bayplan.model.formats import Asked, Part
from bayplan.model.topology import ClusterTopology
from bayplan.report.batch import Batch
from bayplan.topologies import native
from bayplan.topologies import osmo_pool as osmo_pools
from bayplan.topologies.edits import Edit

DOMAINS = "domains: []"


def run(given: Given) -> int:
    """Writes the topology, or the one after --update with what the sources add."""
    asked = topology_sources.asked(given)
    batches = [Batch((*output.wrong(given), *asked.diagnostics, *_twice(given)))]
    if asked.value is None or has_errors(batches[0].diagnostics):
        return finish(given, batches)
    picked, found = topology_sources.pick(given)
    batches += found
    if len(picked) < len(given.words):
        return finish(given, batches)
    if given.on("update"):
        text = _updated(given, picked, asked.value, batches)
    else:
        text = _new(given, picked, asked.value, batches)
    return finish(given, batches, None if text is None else output.file_writer(given, [text]))


def _twice(given: Given) -> tuple[Diagnostic, ...]:
    if (*given.words, given.one("update")).count("-") < 2:
        return ()
    return (error("A922", ("argument", "-"), "- is standard input, which can be read only once"),)


def _new(given: Given, picked: Sequence[Picked], asked: Asked, batches: list[Batch]) -> str | None:
    from bayplan.topologies import merge

    said = _gathered(picked, asked, batches)
    if said is None:
        return None
    merged = merge.merge(said)
    batches.append(_quoted(merged.diagnostics, picked))
    made = merged.value
    if made is None:
        return None
    topology = made.topology._replace(name=given.one("name", made.topology.name))
    if any(pool.domains for pool in topology.pools):
        judged = pipeline.judge_topology(topology)
        batches.append(_at_sources(judged, made, picked))
        if has_errors(judged):
            return None
    return _commented(native.write(topology))


def _gathered(picked: Sequence[Picked], asked: Asked, batches: list[Batch]) -> tuple[Part, ...] | None:
    """What each source says."""
    parts, found = topology_sources.gather(picked, asked)
    batches += found
    return parts


def _pools(made: Part | None) -> set[str]:
    """The pools with nodes, by name."""
    return {pool.name for pool in made.topology.pools if pool.domains} if made else set()


def _quoted(found: tuple[Diagnostic, ...], picked: Sequence[Picked]) -> Batch:
    """Findings that speak of several sources, with the texts of all."""
    sources: dict[str, Document] = {}
    for each in picked if found else ():
        sources.update(each.file.batch(found).sources)
    return Batch(found, sources)


def _at_sources(found: tuple[Diagnostic, ...], made: Part, picked: Sequence[Picked]) -> Batch:
    """What is wrong with the result, shown where a source speaks of the first node concerned."""
    sources: dict[str, Document] = {}
    for each in picked if found else ():
        sources.update(each.file.batch(found).sources)
    only = picked[0].file.at() if len(picked) == 1 else ()
    return Batch(found, sources, {"topology": dict(_origins(made, only))} if found else {})


def _origins(made: Part, only: Route) -> Iterator[tuple[Route, Route]]:
    """Route of a pool or a domain -> the place of its first node, where a source has told it, else the only source."""
    if only:
        yield ("topology",), only
    for p, pool in enumerate(made.topology.pools):
        firsts = [next((made.places[node] for node in each.nodes if node in made.places), ()) for each in pool.domains]
        yield from ((("topology", "spec", "pools", p, "domains", d), at) for d, at in enumerate(firsts) if at)
        yield from ((("topology", "spec", "pools", p), at) for at in firsts[:1] if at)


def _updated(given: Given, picked: Sequence[Picked], asked: Asked, batches: list[Batch]) -> str | None:
    """The text of the topology file with its edits."""
    document, found = inputs.topology_of(given.one("update"))
    batches += found
    if document is None:
        return None
    topology, origins = pipeline.check_topology(document)
    batches.append(Batch(topology.diagnostics, {"topology": document}, origins))
    if topology.value is None:
        return None
    if not any(each.formats for each in picked):
        return _applied(document, _osmo(picked, topology.value, document, batches), batches)
    if not any(topology_sources.knows_nodes(each) for each in picked):
        batches.append(_no_update(picked))
        return None
    return _refreshed(picked, asked, topology.value, document, batches)


def _no_update(picked: Sequence[Picked]) -> Batch:
    """A934: --update with sources that know no nodes: levels and selectors stay as the file has them."""
    name = next(format_.NAME for each in picked for format_ in each.formats)
    message = f"{name} knows no nodes, so there is nothing to bring up to date"
    hint = "name a source with nodes too, such as `kubectl get nodes -o json`; or leave --update out"
    return Batch((error("A934", ("argument", "--update"), message, hint=hint),))


def _refreshed(
    picked: Sequence[Picked], asked: Asked, old: ClusterTopology, document: Document, batches: list[Batch]
) -> str | None:
    """The text with what the sources say of nodes in place of what the file said; the rest of it stays."""
    from bayplan.topologies import merge, refresh

    frames = tuple(pool._replace(domains=(), unusable={}) for pool in old.pools)
    said = _gathered(picked, asked._replace(frames=frames), batches)
    if said is None:
        return None
    known = Part(old._replace(pools=frames), aliases=_slurm_names(old), source=document.name)
    made = merge.merge((known, *said))
    if not _pools(made.value) & {pool.name for pool in old.pools}:  # networks alone add to what is there
        made = merge.merge((known._replace(topology=old), *said))
    batches.append(_quoted(made.diagnostics, picked))
    if made.value is None:
        return None
    judged = pipeline.judge_topology(made.value.topology)
    if has_errors(judged):
        batches.append(_at_sources(judged, made.value, picked))
        return None
    edits = refresh.edits(old, made.value.topology, states=topology_sources.states(picked))
    batches.append(Batch(edits.diagnostics, {"topology": document}))
    return _applied(document, edits.value, batches)


def _slurm_names(topology: ClusterTopology) -> dict[str, str]:
    """What Slurm calls the nodes -> their names, where the file has rules for that."""
    from bayplan.topologies.slurm_layout import name_rules, slurm_name

    rules = name_rules(topology)
    names = [node for pool in topology.pools for each in pool.domains for node in each.nodes] if rules else []
    return {slurm_name(node, rules): node for node in names}


def _osmo(
    picked: Sequence[Picked], topology: ClusterTopology, document: Document, batches: list[Batch]
) -> tuple[Edit, ...] | None:
    """What a topology gains of OSMO's pools: they know no nodes, so nothing of it is replaced."""
    edits: list[Edit] = []
    failed = False
    for each in picked:
        source, batch = osmo_pool.pick(each.file.documents, each.pool)
        batches.append(batch)
        made = osmo_pools.update(source, topology) if source else Outcome[tuple[Edit, ...]](None)
        found = made.diagnostics
        if each.guessed and any(one.code == "W471" for one in found):
            found = (*found, topology_sources.unrecognised())
        batches.append(Batch(found, {"topology": document, **({osmo_pools.SUBJECT: source} if source else {})}))
        failed |= made.value is None
        edits += made.value or ()
    return None if failed else tuple(edits)


def _applied(document: Document, edits: tuple[Edit, ...] | None, batches: list[Batch]) -> str | None:
    if not edits:
        return None if edits is None else document.text
    from bayplan.cli import editing

    text = editing.apply(document, edits)
    batches.append(Batch(text.diagnostics, {"topology": document}))
    return text.value


def _commented(topology: Mapping[str, Any]) -> str:
    """The topology with a line of help at each list of domains that is still empty."""
    text = "".join(emit((topology,)))
    if DOMAINS not in text:
        return text
    levels = iter([[each["name"] for each in pool.get("levels", ())] for pool in topology["spec"]["pools"]])
    lines = text.splitlines()
    return "".join(f"{line}{_help(next(levels)) if line.strip() == DOMAINS else ''}\n" for line in lines)


def _help(levels: Sequence[str]) -> str:
    path = f"path: {'/'.join(levels).upper()}, " if levels else ""
    return f'  # one line for each domain: - {{{path}nodes: "n[01-18]"}}'
