"""What already runs in a cluster, from what kubectl and Slurm print: the amounts that each workload takes of each node.

`read` adds a file to a `Ledger`, `Ledger.occupied` returns the sums. Amounts have the names and the units of
`model.plan.Occupant`, so that the proof can subtract them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan import plugins
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.core.phrases import count, shorten
from bayplan.model.formats import SourceFile
from bayplan.topologies.occupancy import kubernetes
from bayplan.topologies.occupancy.ledger import HINT, Ledger

MOST_REPORTED = 20
"""Faults of a file that bayplan reports one by one."""

SHOWN = 3
"""Nodes that a message names."""


def read(source: SourceFile, ledger: Ledger) -> Iterator[Diagnostic]:
    """Adds a file. Yields an error for everything in it that is not valid. R160: no format recognizes the file."""
    head = source.head
    start = head.lstrip()[:1]
    if start in ("{", "["):
        yield from _limited(kubernetes.read_json(source, ledger), source)
    elif kubernetes.is_extract(head):
        yield from _limited(kubernetes.read_extract(source, ledger), source)
    elif reader := next((reader for reader in plugins.loaded("occupancy") if reader.claims(head)), None):
        yield from reader.read_text(source, ledger)
    elif start:
        yield error("R160", source.at(), "this is not the output of kubectl, squeue or scontrol", hint=HINT)
    else:
        yield error("R160", source.at(), "the file is empty", hint=HINT)


def _limited(found: Iterator[Diagnostic], source: SourceFile) -> Iterator[Diagnostic]:
    """The first faults, and how many more there are."""
    more = 0
    for number, each in enumerate(found):
        if number < MOST_REPORTED:
            yield each
        else:
            more += 1
    if more:
        yield error("R160", source.at(), f"bayplan cannot read {more} more objects of this file", hint=HINT)


def remarks(ledger: Ledger) -> Iterator[Diagnostic]:
    """R162: pods or jobs on nodes that the topology does not have, and claims whose node no file has.

    R162: nodes that the topology has, and that start no pods.
    """
    if ledger.strangers:
        what = " and ".join(count(number, noun) for noun, number in sorted(ledger.uncounted.items(), reverse=True))
        nodes = f"{count(len(ledger.strangers), 'node')} that the topology does not have: {_named(ledger.strangers)}"
        hint = "if these nodes are for your workloads, add them with `bayplan topology import --update`"
        yield info("R162", next(iter(ledger.strangers.values())), f"bayplan ignores {what} on {nodes}", hint=hint)
    if ledger.unplaced:
        names = dict.fromkeys(each.name for each in ledger.unplaced)
        claims = f"{count(len(names), 'ResourceClaim')}: {_named(names)}"
        hint = "also pass the output of `kubectl get pods -A -o json`, which has the nodes of their pods"
        yield info("R162", ledger.unplaced[0].place, f"bayplan does not know the nodes of {claims}", hint=hint)
    if ledger.out:
        verb = "is" if len(ledger.out) == 1 else "are"
        nodes = f"{count(len(ledger.out), 'node')} {verb} usable in the topology"
        message = f"{nodes}, but now cordoned, drained, down or not ready: {_named(ledger.out)}"
        hint = "update the topology with `bayplan topology import --update`"
        yield info("R162", next(iter(ledger.out.values())), message, hint=hint)


def _named(nodes: Mapping[str, object]) -> str:
    """The first nodes."""
    names = list(nodes)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(map(shorten, names[:SHOWN]))}{more}"
