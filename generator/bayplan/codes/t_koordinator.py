"""Topology sources: Koordinator's ClusterNetworkTopology."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T465": "the layers of a ClusterNetworkTopology are no chain",
    "T466": "a layer of a ClusterNetworkTopology has no label",
    "T467": "a layer of a ClusterNetworkTopology has several labels",
}
