"""Topology sources: slurm."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T470": "a line that is none of Slurm's",
    "T471": "a unit described twice",
    "T472": "a switch that is not described",
    "T473": "switches in a circle",
    "T474": "a node on two units",
    "T475": "block sizes that Slurm refuses",
    "T476": "a block smaller than planned",
    "T477": "output of scontrol that is cut off",
    "T478": "a switch with nodes and switches",
    "T479": "switches too deep",
    "T480": "a name that is too long for Slurm",
    "T481": "more nodes than a Slurm cluster has",
    "T482": "labels that Slurm does not know",
    "T483": "a topology that bayplan cannot hold",
    "T484": "a switch below two others",
    "T485": "not the shape of a topology.yaml",
    "T486": "leaf switches at different depths",
    "T487": "empty blocks are left out",
}
