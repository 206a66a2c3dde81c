"""What OSMO's service moves and collects, and manifests cannot (OSMO 6.4, src/utils/job/task.py).

One finding a kind: the same thing in a hundred tasks is one thing to know.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, warning
from bayplan.workflows.osmo.rules.places import Workflow, entries, gathered, tasks

SHARED = "put the data on storage that all tasks mount (volumeMounts, or a volume of the topology's pool)"


def check_inputs(workflow: Workflow) -> Iterator[Diagnostic]:
    """W441: nothing is downloaded into an input's folder."""
    places = [route for entry, route in entries(workflow, "inputs") if ":" not in entry.get("task", "")]
    message = "OSMO brings the data of an input; a manifest cannot. The task finds an empty folder /osmo/data/input/<n>"
    yield from gathered(warning, "W441", places, message, f"{SHARED}, or fetch them in the command")


def check_previous(workflow: Workflow) -> Iterator[Diagnostic]:
    """W443: the task of another workflow, whose data only OSMO knows."""
    places = [route for entry, route in entries(workflow, "inputs") if ":" in entry.get("task", "")]
    message = "this input is from an earlier workflow, which OSMO looks up; the task finds an empty folder in its place"
    yield from gathered(warning, "W443", places, message, f"{SHARED}, and let that workflow write there")


def check_outputs(workflow: Workflow) -> Iterator[Diagnostic]:
    """W442: nothing is uploaded from the output's folder."""
    places = [route for _, route in entries(workflow, "outputs")]
    message = "OSMO uploads an output after the command; a manifest cannot. /osmo/data/output is lost with the pod"
    yield from gathered(warning, "W442", places, message, "upload it in the command, or write to storage that stays")


def check_collected(workflow: Workflow) -> Iterator[Diagnostic]:
    """W444: checkpoints; W445: figures."""
    places = [route for _, route in entries(workflow, "checkpoint")]
    message = "OSMO uploads checkpoints while the command runs; a manifest cannot"
    yield from gathered(warning, "W444", places, message, "write them to storage that stays, from the command itself")
    places = [route for _, route in entries(workflow, "kpis")]
    message = "OSMO collects these figures; a manifest cannot"
    yield from gathered(warning, "W445", places, message, "print them, or send them from the command")


def check_transfer(workflow: Workflow) -> Iterator[Diagnostic]:
    """W446: how inputs would be downloaded and kept."""
    places = [
        (*task.route, key) for task in tasks(workflow) for key in ("downloadType", "cacheSize") if task.data.get(key)
    ]
    message = "this says how OSMO downloads inputs; nothing is downloaded here, so it has no effect"
    yield from gathered(warning, "W446", places, message, "nothing replaces it; it may stay for OSMO")
