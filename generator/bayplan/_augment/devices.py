"""Cards that a pod asks for, and HAMi does not hand out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan._augment.case import Case
from bayplan._augment.cluster import Cluster
from bayplan.adorn import Adorned
from bayplan.checks.accelerators import CODES, HAMI
from bayplan.diagnostics import Diagnostic
from bayplan.kube.safe import mapping

OURS = ("privileged",)
"""Rules that what a fabric adds can break; the others are for the linter, which sees all objects."""


def refused(case: Case, every: Iterable[Adorned], cluster: Cluster) -> Iterator[Diagnostic]:
    """W558: a privileged container with cards, by itself or because its fabric makes it so."""
    kinds = cluster.topology.accelerators.values()
    if not any(HAMI in kind.allocators for kind in kinds):
        return
    from bayplan.accelerators.rules import faults, look

    for each in (one for one in every if one.object is case.roster.object):
        for seat in case.roster.seats:
            for fault in faults(look(mapping(each.data, *seat.path), kinds, cluster.target)):
                if fault.rule in OURS:
                    route = (*each.object.route, *seat.path, *fault.path)
                    yield Diagnostic(CODES[fault.rule], fault.severity, fault.message, route, hint=fault.hint)
