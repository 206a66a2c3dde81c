"""Topology sources: volcano."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T450": "a level of two tiers",
    "T451": "repeated values and discovered HyperNodes",
    "T452": "nodes that only the cluster can tell",
    "T453": "HyperNodes of uneven depth",
    "T454": "a HyperNode that is none, or is there twice",
}
