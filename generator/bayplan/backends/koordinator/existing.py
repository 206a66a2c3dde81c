"""Koordinator and existing workloads: one PodGroup, whose pods Koordinator places in the order of their names.

The controllers choose the names, not bayplan. Read from Koordinator 1.7 and 1.8, network_topology_solver.go: it sorts
pods by name as text, and places the next n of them in one domain. The names of a JobSet's Jobs contain their number, so
each Job stays whole.
"""

from __future__ import annotations

from bayplan.backends.koordinator.pod_group import QUOTA, lower
from bayplan.model.backend import Support
from bayplan.model.existing import PLAIN, Existing, carries, refuses

SUPPORT: tuple[Support, ...] = (
    *carries("place", *PLAIN),
    *refuses(
        "place",
        "another scheduler places the pods of this kind",
        "use a JobSet, or another kind whose pods Koordinator schedules",
        word="not yet in bayplan",
        but=PLAIN,
    ),
    *carries("copies", "jobset"),
    *refuses(
        "copies",
        "Koordinator places pods in the order of their names, which do not contain the number of their copy",
        "use a JobSet",
        but=("jobset",),
    ),
    *refuses(
        "ranks",
        "Koordinator places pods in the alphabetical order of their names, where 10 comes before 2, which mixes groups",
        "make each group a Job of a JobSet, write a pod template for each group, or use a Workflow",
        word="not yet upstream",
    ),
    *refuses(
        "gangs",
        "Koordinator reads the PodGroup from a label of the pod template, so all pods of one template are one gang",
        "write a workload for each gang",
    ),
)

EXISTING = Existing(SUPPORT, lower, QUOTA)
