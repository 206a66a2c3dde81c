"""`bayplan topology import`: a cluster topology out of what another system says, or what it says laid over one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayplan import pipeline
from bayplan.cli import foreign_topology, inputs, osmo_pool, output
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.diagnostics import Outcome, error
from bayplan.document import Document
from bayplan.emit import emit
from bayplan.model.topology import ClusterTopology
from bayplan.report.batch import Batch
from bayplan.topologies import IMPORTS
from bayplan.topologies import osmo_pool as osmo_pools
from bayplan.topologies.edits import Edit
from bayplan.values import NamedTuple


class Importer(NamedTuple):
    """A format that topologies are made of. Words of the command line -> document; document -> topology or edits."""

    load: Callable[[str], tuple[Document | None, Batch]]
    new: Callable[[Document], Outcome[dict[str, Any]]]
    update: Callable[[Document, ClusterTopology], Outcome[tuple[Edit, ...]]]


IMPORTERS: Mapping[str, Importer] = {
    osmo_pools.NAME: Importer(osmo_pool.load, osmo_pools.new, osmo_pools.update),
}
"""Word after --from -> format; the first is the default."""

DOMAINS = "domains: []"


def run(given: Given) -> int:
    """Writes the topology, or the one after --update with what the source adds."""
    batches = [Batch(output.wrong(given))]
    if (given.words[0], given.one("update")) == ("-", "-"):
        message = "- is standard input, which can be read only once"
        return finish(given, [Batch((error("A922", ("argument", "-"), message),))])
    foreign = _foreign(given)
    if foreign is not None:
        return foreign
    importer = IMPORTERS[given.one("from", next(iter(IMPORTERS)))]
    source, batch = importer.load(given.words[0])
    batches.append(batch)
    if given.on("update"):
        text = _updated(given.one("update"), source, importer, batches)
    else:
        text = _new(source, importer, batches)
    return finish(given, batches, None if text is None else output.file_writer(given, [text]))


def _foreign(given: Given) -> int | None:
    """The whole run, where the source is a topology of another system; None where it is none."""
    name = given.one("from")
    if name in IMPORTERS or not (name or (IMPORTS and os.path.isfile(given.words[0]))):
        return None
    source, batch = foreign_topology.load(given.words[0])
    format_ = foreign_topology.importer(name, source) if source else None
    if source is None or format_ is None:
        return finish(given, [batch]) if name else None
    if given.on("update"):
        return finish(given, [foreign_topology.no_update(format_.NAME)])
    made, found = foreign_topology.new(format_, source, batch)
    batches = [Batch(output.wrong(given)), found]
    text = None if made.value is None else _commented(made.value)
    return finish(given, batches, None if text is None else output.file_writer(given, [text]))


def _new(source: Document | None, importer: Importer, batches: list[Batch]) -> str | None:
    if source is None:
        return None
    made = importer.new(source)
    batches.append(Batch(made.diagnostics, {osmo_pools.SUBJECT: source}))
    return None if made.value is None else _commented(made.value)


def _commented(topology: Mapping[str, Any]) -> str:
    """The topology with a line of help at each list of domains that is still empty."""
    lines = "".join(emit((topology,))).splitlines()
    levels = iter([[each["name"] for each in pool.get("levels", ())] for pool in topology["spec"]["pools"]])
    return "".join(f"{line}{_help(next(levels)) if line.strip() == DOMAINS else ''}\n" for line in lines)


def _help(levels: Sequence[str]) -> str:
    path = f"path: {'/'.join(levels).upper()}, " if levels else ""
    return f'  # one line for each domain: - {{{path}nodes: "n[01-18]"}}'


def _updated(path: str, source: Document | None, importer: Importer, batches: list[Batch]) -> str | None:
    """The text of the topology file with its edits."""
    document, found = inputs.topology_of(path)
    batches += found
    if document is None or source is None:
        return None
    topology, origins = pipeline.check_topology(document)
    batches.append(Batch(topology.diagnostics, {"topology": document}, origins))
    if topology.value is None:
        return None
    edits = importer.update(source, topology.value)
    batches.append(Batch(edits.diagnostics, {osmo_pools.SUBJECT: source, "topology": document}))
    return None if edits.value is None else _applied(document, edits.value, batches)


def _applied(document: Document, edits: tuple[Edit, ...], batches: list[Batch]) -> str | None:
    if not edits:
        return document.text
    from bayplan.cli import editing

    text = editing.apply(document, edits)
    batches.append(Batch(text.diagnostics, {"topology": document}))
    return text.value
