"""Topology: two of them compared, one brought up to date, one shown."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T570": "a domain with another name",
    "T571": "a domain that is gone",
    "T572": "nodes that are gone",
    "T573": "a pool that no source knows",
    "T574": "new nodes without a place",
    "T575": "nodes offer less than the file says",
    "T576": "what is new",
    "T577": "nodes that have moved",
    "T578": "a level that no pool has",
}
