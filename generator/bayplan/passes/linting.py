"""Lints manifests by the common rules and by those of the schedulers."""

from collections.abc import Mapping
from typing import NamedTuple

from bayplan import backends
from bayplan.backends import BACKENDS
from bayplan.core.diagnostics import Outcome, has_errors
from bayplan.core.phrases import single_line
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology
from bayplan.passes import Origins
from bayplan.passes.checking import check_topology
from bayplan.planning.selection import select_backend, select_target
from bayplan.text.document import Document


class LintRequest(NamedTuple):
    """Manifests to lint as one set, with the options of the command line. No scheduler: the rules of all."""

    manifests: tuple[Document, ...]
    topology: Document | None = None
    scheduler: str = ""
    target: Mapping[str, str] = {}
    accept: frozenset[str] = frozenset()


def lint(request: LintRequest) -> tuple[Outcome[tuple[Object, ...]], Origins]:
    """The objects and their diagnostics, by the common rules and those of the schedulers.

    Without a topology, or if its pools have no nodes, rules about nodes report nothing.
    """
    from bayplan import linting
    from bayplan.checks import gangs, node_rules, queue_objects
    from bayplan.linting.objects import collect, lint_context

    read, origins = check_topology(request.topology) if request.topology else (Outcome(UNKNOWN), {})
    if read.value is None:
        return Outcome(None, read.diagnostics), origins
    target = select_target(request.target, read.value)
    backend = select_backend(request.scheduler, None, read.value, BACKENDS) if request.scheduler else Outcome(None)
    found = (*read.diagnostics, *target.diagnostics, *backend.diagnostics)
    if target.value is None or has_errors(found):
        return Outcome(None, found), origins
    objects, foreign = collect(request.manifests)
    context = lint_context(objects, read.value, target.value)._replace(scheduler=request.scheduler)
    names = (backend.value.declared.name,) if backend.value else tuple(BACKENDS)
    findings = [*foreign, *linting.lint(context)]
    findings += [each for name in names for each in backends.lint(name, context)]
    readers = {name: each for name, each in backends.asks().items() if name in (*names, "none")}
    members = gangs.members(objects, gangs.Cluster(read.value, target.value, readers))
    findings += (*gangs.faults(members), *queue_objects.check(members), *node_rules.check(members, read.value))
    accepted = (
        each._replace(severity="warning") if each.severity == "error" and each.code in request.accept else each
        for each in findings
    )
    return Outcome(objects, (*found, *dict.fromkeys(map(single_line, accepted)))), origins


UNKNOWN = ClusterTopology("", ())
"""A cluster without a topology file."""
