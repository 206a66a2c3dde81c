"""Fidelity: workloads that are there, and what their pod templates cannot carry."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F740": "a kind of workload that the scheduler cannot be made to place",
    "F741": "groups that are the copies of one pod template",
    "F742": "groups that are cut out of the pods of one template",
    "F743": "several gangs that come of one pod template",
    "F744": "one ComputeDomain for groups of one pod template",
    "F745": "a ComputeDomain for each of several groups of one pod template",
}
