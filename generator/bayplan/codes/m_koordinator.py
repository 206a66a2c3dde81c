"""Manifests: mistakes in Koordinator's objects that others wrote."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M760": "a ClusterNetworkTopology that Koordinator does not read",
    "M761": "layers that are no chain",
    "M762": "NodeTopologyLayer is missing",
    "M763": "unknown fields in a ClusterNetworkTopology",
    "M764": "values of a layer that repeat",
    "M765": "a layer whose label no node has",
    "M766": "a layer without a label",
    "M767": "a gang annotation that cannot be read",
    "M768": "an annotation that Koordinator does not have",
    "M769": "an unknown gather strategy",
    "M770": "a layer that does not exist",
    "M771": "several MustGather layers",
    "M772": "a podCountMultiple that cannot hold",
    "M773": "total-number and minMember disagree",
    "M774": "an unknown gang mode or match policy",
    "M775": "gangs of one gang group that differ",
    "M776": "pods without their PodGroup",
    "M777": "fewer pods than minMember",
    "M778": "gang pods that another scheduler takes",
    "M779": "numbered pods that are cut in alphabetical order",
}
