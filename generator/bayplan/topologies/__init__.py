"""One file per topology format. `native` is bayplan's own; the others are other systems', read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayplan.model.topology import ClusterTopology
from bayplan.topologies import native

if TYPE_CHECKING:
    from bayplan.model.formats import Format


FORMATS: Mapping[str, Format[ClusterTopology]] = {native.NAME: native}
"""By name, in the order in which they sniff."""

IMPORTS: Mapping[str, str] = {
    "nodes": "nodes.source",
    "koordinator": "koordinator",
    "hypernodes": "hypernodes.source",
    "kueue": "kueue.source",
    "slurm": "slurm.topology_yaml",
    "slurm-conf": "slurm.topology_conf",
    "topograph": "topograph.source",
    "topograph-graph": "topograph.graph",
    "topograph-request": "topograph.request",
    "ibnetdiscover": "managers.ibnetdiscover",
    "ufm": "managers.ufm",
    "netq": "managers.netq",
    "nmx": "managers.nmx",
    "slurm-nodes": "slurm.node_lines",
    "cloud": "cloud.source",
    "kai": "kai",
    "resource-slices": "resource_slices",
    "volcano-discovery": "volcano_discovery",
    "launch-kit": "launch_kit",
    "slurm-config-map": "slurm.config_map",
    "network-operator": "network_operator.source",
}
"""The word after `topology import --from` -> the module in this folder, in the order in which they sniff."""

OBJECTS: tuple[str, ...] = (
    "nodes",
    "koordinator",
    "hypernodes",
    "kueue",
    "kai",
    "resource-slices",
    "volcano-discovery",
    "slurm-config-map",
    "network-operator",
)
"""Those whose files hold Kubernetes objects: one file may hold objects of several."""

EXPORTS: Mapping[str, str] = {
    "slurm-conf": "slurm.topology_conf",
    "node-labels": "node_labels",
    "slinky": "slurm.slinky",
    "topograph": "topograph.source",
    "topograph-graph": "topograph.graph",
    "network-operator": "network_operator.writing",
}
"""Words after `topology export --to` besides the schedulers' names -> the module in this folder."""
