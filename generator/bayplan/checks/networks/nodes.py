"""Fabrics and the nodes that hang on them: names, numbers of GPUs, and one card in two fabrics."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.networks.kinds import FABRICS
from bayplan.checks.nodes import POOLS
from bayplan.diagnostics import Diagnostic, Note, error, warning
from bayplan.fabrics.hanging import NETWORKED, pools_of
from bayplan.model.fabric import Fabric
from bayplan.model.topology import ClusterTopology
from bayplan.words import listing, suggest

GLOBAL = ("default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv")
"""Namespaces whose networks all pods of OpenShift may use (namespaceIsolation, on by default)."""


def check(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T610, T612, and T603 for cards of two fabrics."""
    for index, pool in enumerate(topology.pools):
        for place, name in enumerate(pool.node.fabrics or ()):
            if name not in topology.fabrics:
                hint = suggest(name, topology.fabrics, "fabrics")
                message = f'pool "{pool.name}" hangs on the fabric "{name}", which there is not'
                yield error("T610", (*POOLS, index, "node", "fabrics", place), message, hint=hint)
    for fabric in topology.fabrics.values():
        yield from _alone(topology, fabric)
        yield from _gpus(topology, fabric)
        if topology.platform == "openshift" and fabric.kind in NETWORKED:
            yield from _isolated(topology, fabric)
    yield from _shared(topology)


def _alone(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    if not pools_of(topology, fabric.name):
        message = f'no pool hangs on the fabric "{fabric.name}"'
        hint = "add it to `node.fabrics` of a pool, or leave `fabrics` out there"
        yield warning("T610", (*FABRICS, fabric.name), message, hint=hint)


def _gpus(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    counts = [pool.node.accelerators for pool in pools_of(topology, fabric.name) if pool.node.accelerators]
    for index, rail in enumerate(fabric.rails):
        if counts and rail.gpu is not None and rail.gpu >= max(counts):
            message = f"the rail is next to GPU {rail.gpu}, and nodes on its fabric have {max(counts)}, counted from 0"
            route = (*FABRICS, fabric.name, "rails", index, "gpu")
            yield error("T610", route, message, hint=f"0 to {max(counts) - 1}")


def _isolated(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    """OpenShift's Multus takes networks of the pod's own namespace, and of a few for all."""
    spaces = {name for name in (*topology.namespaces, topology.defaults.get("namespace", "")) if name}
    for index, rail in enumerate(fabric.rails):
        space = rail.network.rpartition("/")[0]
        if space and space not in GLOBAL and spaces and space not in spaces:
            message = f'pods of {listing(sorted(spaces), "and", 3)} cannot use networks of "{space}" on OpenShift'
            hint = f"put the network into the pods' namespace, or into {listing(GLOBAL[:1])}"
            yield warning("T612", (*FABRICS, fabric.name, "rails", index, "network"), message, hint=hint)
            return


def _shared(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """One card serves one type of networking (Network Operator 26.4, deployment guide)."""
    first: dict[tuple[str, str, str], tuple[str, int]] = {}
    for fabric in topology.fabrics.values():
        for index, rail in enumerate(fabric.rails):
            for pool in pools_of(topology, fabric.name):
                for key in ("hca", "device"):
                    value = getattr(rail, key)
                    other, place = first.setdefault((pool.name, key, value), (fabric.name, index))
                    if value and other != fabric.name and topology.fabrics[other].kind != fabric.kind:
                        message = f'"{value}" of pool "{pool.name}" is a card of two fabrics of different kinds'
                        notes = (Note("the other is here", (*FABRICS, other, "rails", place, key)),)
                        route = (*FABRICS, fabric.name, "rails", index, key)
                        hint = "a card serves one type of network; say with `node.fabrics` which nodes have which"
                        yield warning("T603", route, message, notes=notes, hint=hint)
                        return
