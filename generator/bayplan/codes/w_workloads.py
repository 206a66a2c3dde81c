"""Workloads that others wrote: which pods they make."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W500": "a kind of workload that is not known",
    "W501": "a kind of workload that makes no gang",
    "W502": "the number of pods cannot be told",
    "W503": "no pod template",
    "W504": "pods that come in waves",
    "W505": "a workload without pods",
    "W506": "more or fewer pods than are planned",
    "W507": "a runtime that is not there",
    "W508": "a runtime that is not its TrainJob's own",
    "W509": "a part of a workload without a name of its own",
    "W510": "a PodGroup of the workload's own",
    "W511": "a workload without a name that can be used",
    "W512": "pods that wait for each other",
    "W513": "an amount of a pod template that is none",
    "W514": "a claim by a template that is not there",
    "W515": "pods that no scheduler is free to place",
    "W516": "pods of one gang with different priorities",
}
"""Code -> what it is about."""
