"""`bayplan topology check`: whether a cluster topology file is sound in itself, and still true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayplan import pipeline
from bayplan.cli import inputs, topology_sources
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.model.topology import ClusterTopology
from bayplan.report import Batch
from bayplan.text.document import Document

if TYPE_CHECKING:
    from bayplan.topologies.comparing import State


def run(given: Given) -> int:
    """Checks the file named, else the project's."""
    document, batches = inputs.one_topology(given)
    found = list(batches)
    wrong = topology_sources.day(given, "newer-than")
    if document is not None and not wrong:
        outcome, origins = pipeline.survey_topology(document)
        age = tuple(_age(outcome.value, given)) if outcome.value else ()
        found.append(Batch((*outcome.diagnostics, *age), {"topology": document}, origins))
        if outcome.value and given.on("live"):
            found += _live(given, outcome.value, document)
    return finish(given, [Batch(wrong), *found], to_stdout=True)


def _age(topology: ClusterTopology, given: Given) -> Iterator[Diagnostic]:
    """T443: days are compared as texts, so no clock is asked."""
    since = given.one("newer-than")
    if since and topology.read < since:
        known = f"were read on {topology.read}" if topology.read else "were read on an unknown day"
        hint = "`bayplan topology import SOURCE --update FILE --read-on DAY` brings it up to date"
        yield warning("T443", ("topology", "spec", "read"), f"its sources {known}, before {since}", hint=hint)


def _live(given: Given, topology: ClusterTopology, document: Document) -> list[Batch]:
    """T444: what the file says of nodes and the sources do not, or say otherwise."""
    from bayplan.cli import topology_merging
    from bayplan.topologies.comparing import compare

    words = given._replace(words=given.all("live"))
    picked, batches = topology_sources.pick(words)
    read_options = topology_sources.read_options(words)
    if len(picked) < len(words.words) or read_options.value is None:
        return batches
    if not any(topology_sources.knows_nodes(each) for each in picked):
        message = "what --live names knows no nodes, so there is nothing to compare"
        hint = "name the list of nodes: `kubectl get nodes -o json`"
        return [*batches, Batch((error("A934", ("argument", "--live"), message, hint=hint),))]
    live = topology_merging.over(topology, document, picked, read_options.value, batches)
    if live is not None:
        compared = compare(topology, live)
        known = topology_sources.states(picked)
        groups = (("gone", compared.gone), ("new", compared.new), ("in another place", compared.moved))
        found = tuple(_differs(word, [node for each in held for node in each.nodes]) for word, held in groups if held)
        found += tuple(_state(each) for each in compared.states if {each.before, each.after} & known)
        batches.append(Batch(found, {"topology": document}))
    return batches


def _state(changed: State) -> Diagnostic:
    from bayplan.core.phrases import count, listing

    nodes, now = changed.nodes, changed.after or "usable"
    message = (
        f"{count(len(nodes), 'node')} ({listing(nodes, 'and', most=5)}) {'is' if len(nodes) == 1 else 'are'} {now}"
    )
    route = ("topology", "spec", "pools")
    return warning("T444", route, f"{message} in the cluster, and {changed.before or 'usable'} in the file", hint=HINT)


HINT = "`bayplan topology diff` shows all of it, `topology import --update` brings the file up to date"


def _differs(word: str, nodes: list[str]) -> Diagnostic:
    from bayplan.core.phrases import count, listing

    some = listing(nodes, "and", most=5)
    message = f"{count(len(nodes), 'node')} ({some}) {'is' if len(nodes) == 1 else 'are'} {word} in the cluster"
    return warning("T444", ("topology", "spec", "pools"), message, hint=HINT)
