"""Fidelity: what Koordinator's planner cannot do for a gang with a placement."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F660": "groups that Koordinator cannot keep whole",
    "F661": "a level for each of several groups needs Koordinator 1.8",
    "F662": "pods of different size in a gang that Koordinator places",
    "F663": "a gang with a placement that may start small on Koordinator",
    "F664": "GPUs claimed through DRA in a gang that Koordinator places",
    "F665": "pod names that mix groups on Koordinator",
    "F666": "pools with different levels on Koordinator",
    "F667": "levels that make one layer of Koordinator",
    "F668": "a preferred level of groups on Koordinator",
}
