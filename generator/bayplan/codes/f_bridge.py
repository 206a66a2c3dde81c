"""Fidelity: slurm-bridge, SUNK and the default scheduler."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F720": "a gang in several Slurm jobs",
    "F721": "a level around several Slurm jobs",
    "F722": "a level that one block does not keep",
    "F723": "blocks that nothing is known of",
    "F724": "several pods on one node",
    "F725": "pods of several pools in one Slurm job",
    "F726": "pods that start again in a PodGroup",
    "F727": "GPUs that Slurm does not count",
    "F728": "long names of Slurm jobs",
    "F729": "Slurm jobs that find no nodes",
    "F730": "pods without requests",
    "F731": "pods that end too slowly",
    "F732": "levels around levels in pod affinity",
    "F733": "groups apart by a level with several labels",
    "F734": "names of groups too long for a label",
    "F735": "GPUs that SUNK does not convert",
    "F736": "placement by a template that slurm-bridge does not read",
    "F737": "resource claims of a template",
    "F738": "placement by a template that SUNK does not read",
}
