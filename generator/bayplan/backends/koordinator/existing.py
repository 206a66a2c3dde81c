"""Koordinator and workloads that exist already: one PodGroup, whose pods are dealt out in the order of their names.

Names are the controllers', not bayplan's. Read from Koordinator 1.7 and 1.8, network_topology_solver.go: pods are
sorted by name as text, and the next n of them go to one domain. Jobs of a JobSet are called after their number, so each
stays whole by itself.
"""

from __future__ import annotations

from bayplan.backends.koordinator.pod_group import QUOTA, lower
from bayplan.model.backend import Support
from bayplan.model.existing import PLAIN, Existing, carries, refuses

SUPPORT: tuple[Support, ...] = (
    *carries("place", *PLAIN),
    *refuses(
        "place",
        "its pods have a scheduler and a PodGroup of their own",
        "use a JobSet, or another workload whose pods Koordinator takes as they are",
        word="not yet here",
        but=PLAIN,
    ),
    *carries("copies", "jobset"),
    *refuses("copies", "its pods are not called after a copy", "use a JobSet", but=("jobset",)),
    *refuses(
        "ranks",
        "pods are dealt out in the order of their names as text, where 10 comes before 2, which mixes groups",
        "let each group be a Job of a JobSet, write a pod template for each, or use a Workflow",
        word="not yet upstream",
    ),
    *refuses(
        "gangs",
        "a PodGroup is named by a label of the pod template, so all pods of it are one gang",
        "write a workload for each gang",
    ),
)

EXISTING = Existing(SUPPORT, lower, QUOTA)
