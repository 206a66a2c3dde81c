"""Manifests: kueue."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M740": "a Topology that Kueue refuses",
    "M741": "levels that the nodes do not have",
    "M742": "nodes that Kueue would leave out",
    "M743": "a Topology without the host level",
    "M744": "a level that no workload can name",
    "M745": "a ResourceFlavor that selects nothing",
    "M746": "a ClusterQueue that takes no work",
    "M747": "a queue that is not there",
    "M748": "an API version of another Kueue",
    "M749": "topology annotations that exclude each other",
    "M750": "a slice size that does not fit",
    "M751": "nested slices that Kueue refuses",
    "M752": "topology annotations in the wrong place",
    "M753": "a queue name in the wrong place",
    "M754": "a level that no Topology has",
    "M755": "exclusive topology beside Kueue's",
    "M756": "podSets that cannot be placed together",
    "M757": "a pod group without name or count",
    "M758": "more podSets than a Workload holds",
    "M759": "an annotation that Kueue does not read",
}
