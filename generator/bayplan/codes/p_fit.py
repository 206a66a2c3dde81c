"""Planning: whether the plan fits the cluster."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "P551": "no domain has room for what must share one",
    "P552": "one pod is larger than a node",
    "P553": "the one IMEX channel of a node stands in the way",
    "P554": "gangs that run at the same time do not fit together",
    "P555": "only nodes that are held back have room",
    "P556": "only part of the replicas fits",
    "P557": "it cannot be decided whether the plan fits",
    "P558": "the cluster has too little room",
}
