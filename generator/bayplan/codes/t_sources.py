"""Topology sources: lines of Slurm's nodes, objects and answers of clouds."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T550": "nodes in another file",
    "T551": "a node that is listed twice",
    "T552": "names that differ by upper and lower case",
    "T553": "several kinds of GPU in one node",
    "T554": "other names that do not pair up",
    "T555": "words that a topology cannot hold",
    "T556": "nodes that do not exist yet",
    "T560": "not the shape of the source",
}
