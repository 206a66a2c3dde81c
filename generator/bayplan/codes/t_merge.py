"""Topology: what several sources say of one cluster."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T437": "a pool that no node is in",
    "T438": "sources that contradict each other",
    "T439": "sources that share no node",
    "T440": "a node whose place nobody says",
    "T441": "a node that only a later source knows",
    "T442": "levels that cross",
    "T443": "a topology that is too old",
    "T444": "a topology that is not true any more",
    "T445": "nodes that no source names",
    "T446": "a source that lacks nodes of its pool",
    "T449": "a level that jobs cannot cross",
}
