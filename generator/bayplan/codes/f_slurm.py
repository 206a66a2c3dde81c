"""Fidelity: slurm."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F692": "several pools in one topology.conf",
    "F693": "several pools in one partition",
    "F700": "a required level over a tree of switches",
    "F701": "a placement over several sections of a job",
    "F702": "a placement between segments and the whole job",
    "F703": "a domain that no block stands for",
    "F704": "Slurm keeps together what may be apart",
    "F705": "empty or short blocks",
    "F706": "groups in domains of their own inside a larger one",
    "F707": "groups apart above the finest level",
    "F708": "an IMEX channel for each group",
    "F709": "containers that start again in their pod",
    "F710": "a ComputeDomain over several sections",
    "F711": "several pods on a node",
    "F712": "fields of a pod template",
    "F713": "a container's own entrypoint",
    "F714": "ports and shared memory of a pod",
    "F715": "an image or files without a container",
    "F716": "extended resources",
    "F717": "node names that mix the domains",
    "F718": "beyond the limits of Slurm",
    "F719": "nodes without a name of their own in Slurm",
}
