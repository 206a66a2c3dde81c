"""Writes a topology as cluster-scoped objects of a scheduler, or in another format."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from bayplan import fabrics
from bayplan.backends import BACKENDS
from bayplan.core.diagnostics import Outcome, has_errors
from bayplan.manifests.order import in_apply_order
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.passes import Documents, Found, Origins, then
from bayplan.passes.checking import check_topology
from bayplan.passes.judging import unfit
from bayplan.passes.lowering import cluster_documents
from bayplan.planning.selection import nothing_to_export, select_backend, select_target
from bayplan.text.document import Document
from bayplan.topologies import WRITTEN

if TYPE_CHECKING:
    from bayplan.model.formats import Exporter


def cluster_objects(
    document: Document, scheduler: str, versions: Mapping[str, str]
) -> tuple[Outcome[Documents], Origins]:
    """The cluster-scoped objects of a scheduler for a topology, or the topology in another format."""
    topology, origins = check_topology(document)
    return then(topology, lambda value: _objects(value, scheduler, versions)), origins


def export(document: Document, name: str, versions: Mapping[str, str]) -> tuple[Outcome[Documents], Origins]:
    """The same for `topology export`, with diagnostics for everything that the other format cannot express."""
    topology, origins = check_topology(document)
    made = then(topology, lambda value: _objects(value, name, versions))
    if topology.value is None or made.value is None or not (made.value or name in WRITTEN):
        return made, origins
    from bayplan.topologies import losses

    target = select_target(versions, topology.value).value
    lost = tuple(losses.report(name, topology.value, target, bool(made.value))) if target else ()
    return Outcome(made.value, (*made.diagnostics, *lost)), origins


def _objects(topology: ClusterTopology, scheduler: str, versions: Mapping[str, str]) -> Outcome[Documents]:
    target = select_target(versions, topology)
    if scheduler in WRITTEN and target.value is not None:
        return _exported(scheduler, topology, target.value, target.diagnostics)
    backend = select_backend(scheduler, None, topology, BACKENDS)
    found = (*backend.diagnostics, *target.diagnostics)
    if backend.value is not None and target.value is not None:
        found += unfit(backend.value, topology, target.value)
    if backend.value is None or target.value is None or has_errors(found):
        return Outcome(None, found)
    objects = cluster_documents(backend.value, fabrics.offering(topology), target.value)
    if not objects and not any(each.code.startswith("F") for each in found):
        found += (nothing_to_export(backend.value.declared.name),)
    return Outcome(in_apply_order(objects, topology.defaults.get("namespace", "")), found)


def _exported(name: str, topology: ClusterTopology, target: Target, found: Found) -> Outcome[Documents]:
    """The topology in another format than the objects of a scheduler."""
    row = WRITTEN[name]
    exporter: Exporter = import_module(f"{row.package}.{row.writer}")
    whose = row.scheduler
    found += unfit(BACKENDS[whose], topology, target) if whose and not has_errors(found) else ()
    found += exporter.judge(topology, target) if hasattr(exporter, "judge") else ()
    return Outcome(None if has_errors(found) else tuple(exporter.write(topology, target)), found)
