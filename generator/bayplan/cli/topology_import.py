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
    made = _merged(picked, asked, batches)
    if made is None:
        return None
    topology = made.topology._replace(name=given.one("name", made.topology.name))
    if any(pool.domains for pool in topology.pools):
        judged = pipeline.judge_topology(topology)
        batches.append(_at_sources(judged, made, picked))
        if has_errors(judged):
            return None
    return _commented(native.write(topology))


def _merged(picked: Sequence[Picked], asked: Asked, batches: list[Batch]) -> Part | None:
    """What all sources say together."""
    from bayplan.topologies import merge

    parts, found = topology_sources.gather(picked, asked)
    batches += found
    if parts is None:
        return None
    made = merge.merge(parts)
    batches.append(_quoted(made.diagnostics, picked))
    return made.value


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
    batches.append(_no_update(picked))
    return None


def _no_update(picked: Sequence[Picked]) -> Batch:
    """A934: --update with a format that adds nothing to a topology."""
    name = next(format_.NAME for each in picked for format_ in each.formats)
    message = f"{name} makes a new topology, and nothing of it can be laid over another one yet"
    hint = "leave --update out, and copy what you need from the result"
    return Batch((error("A934", ("argument", "--update"), message, hint=hint),))


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
