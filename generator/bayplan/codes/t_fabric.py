"""Topology sources: Topograph and fabric managers."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T530": "not the shape of the source",
    "T531": "a host or node twice",
    "T532": "switches that make no tree",
    "T533": "switches without nodes",
    "T534": "nodes at another depth",
    "T535": "a request without a topology",
    "T536": "names that change",
    "T537": "names that no node can have",
    "T538": "hosts that are no compute nodes",
    "T539": "a fabric that is reduced",
    "T540": "parts of a fabric that nothing links",
    "T541": "fabric output that is cut off",
    "T542": "a line that is none of ibnetdiscover's",
    "T543": "an accelerator domain that does not nest",
    "T544": "an adapter that joins everything",
    "T545": "hosts that miss a rail",
    "T546": "compute nodes that are not healthy",
    "T547": "compute nodes without an NVLink domain",
    "T548": "a list of nodes that Topograph cannot read",
    "T549": "hosts that bridge two groups of leaves",
}
