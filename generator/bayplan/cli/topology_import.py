"""`bayplan topology import`: a cluster topology out of what another system says, or what it says laid over one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayplan import pipeline
from bayplan.cli import foreign_topology, inputs, osmo_pool, output
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.diagnostics import Diagnostic, Outcome, error, info
from bayplan.document import Document
from bayplan.emit import emit
from bayplan.model.topology import ClusterTopology
from bayplan.report.batch import Batch
from bayplan.topologies import IMPORTS
from bayplan.topologies import osmo_pool as osmo_pools
from bayplan.topologies.edits import Edit
from bayplan.values import NamedTuple

if TYPE_CHECKING:
    from bayplan.model.formats import Importer as Format
    from bayplan.model.formats import SourceFile


class Importer(NamedTuple):
    """A format that topologies are made of. Words of the command line -> document; document -> topology or edits."""

    load: Callable[[str], tuple[Document | None, Batch]]
    new: Callable[[Document], Outcome[dict[str, Any]]]
    update: Callable[[Document, ClusterTopology], Outcome[tuple[Edit, ...]]]


IMPORTERS: Mapping[str, Importer] = {
    osmo_pools.NAME: Importer(osmo_pool.load, osmo_pools.new, osmo_pools.update),
}
"""Word after --from -> format; the first is the default."""

DEFAULT = osmo_pools.NAME
DOMAINS = "domains: []"


def run(given: Given) -> int:
    """Writes the topology, or the one after --update with what the source adds."""
    batches = [Batch(output.wrong(given))]
    if (given.words[0], given.one("update")) == ("-", "-"):
        message = "- is standard input, which can be read only once"
        return finish(given, [Batch((error("A922", ("argument", "-"), message),))])
    name, word = given.one("from"), given.words[0]
    looked, unread = foreign_topology.load(word) if _may_be_foreign(name, word) else (None, None)
    format_ = foreign_topology.importer(name, looked) if looked else None
    if looked and format_:
        return _foreign(given, format_, looked)
    if unread and not (looked and looked.documents):
        return finish(given, [unread])
    importer = IMPORTERS[name or DEFAULT]
    source, batch = osmo_pool.pick(looked.documents, "") if looked else importer.load(word)
    batches.append(batch)
    if given.on("update"):
        text = _updated(given.one("update"), source, importer, batches)
    else:
        text = _new(source, importer, batches)
    if looked and any(each.code == "W471" for found in batches for each in found.diagnostics):
        batches.append(Batch((_guessed(),)))
    return finish(given, batches, None if text is None else output.file_writer(given, [text]))


def _may_be_foreign(name: str, word: str) -> bool:
    """Whether to look into the source for other formats: FILE#POOL is OSMO's alone."""
    return name not in IMPORTERS and (bool(name) or not osmo_pool.split(word)[1])


def _guessed() -> Diagnostic:
    """A936: the format could not be told, and what was found may be about another one."""
    message = f"no format recognises the source, so it is read as {DEFAULT}"
    hint = f"name its format with --from: {', '.join((*IMPORTERS, *IMPORTS))}"
    return info("A936", ("argument", "SOURCE"), message, hint=hint)


def _foreign(given: Given, format_: Format, source: SourceFile) -> int:
    """The whole run, where the source is a topology of another system."""
    if given.on("update"):
        return finish(given, [foreign_topology.no_update(format_.NAME)])
    made, found = foreign_topology.new(format_, source)
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
