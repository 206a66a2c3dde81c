"""Slinky's annotation of Nodes: the place that slurm-operator gives to each slurmd (slurm-operator 1.0 to 1.3).

`topology.slinky.slurm.net/spec: gb200:rack-1` becomes `slurmd --conf Topology=gb200:rack-1`: the name of the topology
and the unit; for a tree, the whole path from the top switch (Topograph 1.0, `pkg/translate/yaml.go`). The names are
equal to those in the topology.yaml that `--to slurm` writes. Nodes of a flat topology get no annotation, because an
empty value breaks their registration (slurm-operator#261).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.plugin import ClusterTopology, Many, Pool, Slot, Target, name_rules, slurm_name, upwards
from bayplan.plugins.slurm.topology.layout import SlurmLayout, layouts, one_layout

ANNOTATION = "topology.slinky.slurm.net/spec"


def write(topology: ClusterTopology, target: Target) -> tuple[Many, ...]:
    """The nodes of each unit, with their place in Slurm's topologies."""
    shared = None if target.since("slurm", "25.05") else one_layout(topology, target)
    pool_layouts = (shared,) * len(topology.pools) if shared else layouts(topology, target)
    return tuple(
        each for pool, own in zip(topology.pools, pool_layouts, strict=True) for each in _nodes(topology, pool, own)
    )


def _nodes(topology: ClusterTopology, pool: Pool, layout: SlurmLayout) -> Iterator[Many]:
    """The Kubernetes nodes. Slurm can have other names for them."""
    rules = name_rules(topology)
    places = _places(layout)
    for domain in pool.domains:
        place = places.get(slurm_name(domain.nodes[0], rules)) if domain.nodes else None
        if place:
            annotations = {ANNOTATION: f"{layout.name}:{place}"}
            metadata = {"name": Slot(0, "name"), "annotations": annotations}
            skeleton = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
            yield Many(skeleton, tuple((node,) for node in domain.nodes))


def _places(layout: SlurmLayout) -> Mapping[str, str]:
    """First node of a unit -> the path of the unit from its top switch. A domain is one unit."""
    above = {child: unit.name for unit in layout.units for child in unit.children}
    return {unit.nodes[0]: ":".join(upwards(unit.name, above)) for unit in layout.units if unit.nodes}
