"""Cluster topology: what accelerators are, and who hands them out."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T630": "link zones that are no division of a node's cards",
    "T631": "a setting that these cards do not have",
    "T632": "a memory that is no amount",
}
