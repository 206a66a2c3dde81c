"""Topology sources: lines of Slurm's nodes, objects of Kubernetes and answers of clouds."""

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
    "T557": "instances without a place",
    "T558": "an answer that goes on",
    "T559": "nodes called after their instances",
    "T560": "not the shape of the source",
    "T561": "slices that are missing",
    "T562": "GPUs with taints",
    "T563": "values that are no label values",
    "T564": "a node at two places",
    "T565": "levels that do not nest",
    "T566": "a Topology that KAI refuses",
    "T567": "a member that no node meets",
    "T568": "a discovery of HyperNodes that cannot be read",
    "T569": "what the launch kit's configuration leaves open",
}
