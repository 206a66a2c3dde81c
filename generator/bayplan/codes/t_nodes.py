"""Topology sources: Kubernetes nodes."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T501": "what should be nodes cannot be read",
    "T502": "a node listed twice",
    "T503": "a node without the label of a level",
    "T504": "nodes without a level are left out",
    "T505": "a few nodes say that a domain lies elsewhere",
    "T506": "values that repeat under other parents",
    "T507": "a node in no NVLink partition",
    "T508": "levels from fine to coarse",
    "T509": "a label that every node has for itself",
    "T510": "racks across the switches",
    "T511": "a host name that is not the node's name",
    "T512": "a label that stands for a longer name",
    "T513": "other GPUs to allocate than there are",
    "T514": "a pool of different nodes",
    "T515": "nodes that are no workers",
    "T516": "no nodes",
    "T517": "labels that no node carries",
    "T518": "a flat pool",
    "T519": "labels of several networks",
    "T520": "a rack of unequal NVLink partitions",
    "T521": "one NVLink partition in two racks",
    "T522": "NVLink partitions below the rack",
    "T523": "fewer devices than the nodes beside",
    "T524": "nodes with a taint of their own",
    "T525": "GPUs that only DRA gives",
    "T526": "what no node can have",
    "T527": "GPUs without a name",
    "T528": "parts of GPUs",
    "T529": "a list of nodes that goes on",
    "T590": "accelerators of another kind",
    "T591": "a selector that takes more nodes",
    "T592": "CPU and memory of a node to the last",
}
