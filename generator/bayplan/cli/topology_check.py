"""`bayplan topology check`: whether a cluster topology file is valid and up to date."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan import pipeline
from bayplan.cli import inputs, topology_sources
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.model.topology import ClusterTopology
from bayplan.report import Batch
from bayplan.text.document import Document


def run(args: Arguments) -> int:
    """Checks the named file, or the project's."""
    document, batches = inputs.one_topology(args)
    reported = list(batches)
    wrong_day = topology_sources.day(args, "newer-than")
    if document is not None and not wrong_day:
        outcome, origins = pipeline.survey_topology(document)
        age = tuple(_age(outcome.value, args)) if outcome.value else ()
        reported.append(Batch((*outcome.diagnostics, *age), {"topology": document}, origins))
        if outcome.value and args.has("live"):
            reported += _live(args, outcome.value, document)
    return finish(args, [Batch(wrong_day), *reported], to_stdout=True)


def _age(topology: ClusterTopology, args: Arguments) -> Iterator[Diagnostic]:
    """T444. It compares days as strings, so the result does not depend on the clock."""
    since = args.value("newer-than")
    if since and topology.read < since:
        age = f"is from {topology.read}" if topology.read else "has no date"
        hint = "update it: `bayplan topology import SOURCE --update FILE --read-on DAY`"
        yield warning(
            "T444",
            ("topology", "spec", "read"),
            f"the topology {age}; --newer-than expects {since} or later",
            hint=hint,
        )


def _live(args: Arguments, topology: ClusterTopology, document: Document) -> list[Batch]:
    """T444: the sources and the file have different nodes."""
    from bayplan.cli.topology_merging import nodes_are, over
    from bayplan.topologies.comparing import compare

    live_args = args._replace(words=args.values("live"))
    picked, batches = topology_sources.pick(live_args)
    request = topology_sources.read_options(live_args)
    if len(picked) < len(live_args.words) or request.value is None:
        return batches
    if not any(topology_sources.knows_nodes(each) for each in picked):
        message = "the sources of --live name no nodes, so there is nothing to compare"
        hint = "add a list of nodes: `kubectl get nodes -o json`"
        return [*batches, Batch((error("T516", ("argument", "--live"), message, hint=hint),))]
    live = over(topology, document, picked, request.value, batches)
    if live is not None:
        compared = compare(topology, live)
        states = topology_sources.states(picked)
        groups = (("gone", compared.gone), ("new", compared.new), ("in other domains", compared.moved))
        changes = [
            f"{nodes_are([node for each in members for node in each.nodes])} {word} in the cluster"
            for word, members in groups
            if members
        ]
        changes += [
            f"{nodes_are(nodes)} {after or 'usable'} in the cluster, and {before or 'usable'} in the file"
            for nodes, before, after in compared.states
            if {before, after} & states
        ]
        route = ("topology", "spec", "pools")
        diagnostics = tuple(warning("T444", route, change, hint=HINT) for change in changes)
        batches.append(Batch(diagnostics, {"topology": document}))
    return batches


HINT = "see all differences with `bayplan topology diff`; update the file with `topology import --update`"
