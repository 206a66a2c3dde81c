"""What OSMO's service decides while a workflow runs, and manifests cannot (OSMO 6.4, src/utils/job/jobs.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, info, warning
from bayplan.words import listing, shorten
from bayplan.workflows.osmo.rules.places import ROOT, Workflow, gathered, groups, tasks
from bayplan.workflows.osmo.units import k8s_name, seconds


def check_queue(workflow: Workflow) -> Iterator[Diagnostic]:
    """W447: how long a group may wait. Kubernetes counts that together with how long it may run."""
    timeout = workflow.get("timeout", {})
    if seconds(timeout.get("queue_timeout")) and not seconds(timeout.get("exec_timeout")):
        message = "Kubernetes has no limit for waiting alone, so this one is lost"
        hint = "add `exec_timeout`: the sum of both can be carried"
        yield warning("W447", (*ROOT, "timeout", "queue_timeout"), message, hint=hint)


def check_barrier(workflow: Workflow) -> Iterator[Diagnostic]:
    """W448: tasks that do not wait for each other."""
    places = [
        (*group.route, "barrier")
        for group in groups(workflow)
        if len(group.tasks) > 1 and not group.data.get("barrier", True)
    ]
    message = "the tasks of a group start all or none here, whether they wait for each other or not"
    hint = "make tasks that may start alone groups of their own"
    yield from gathered(info, "W448", places, message, hint)


def check_failures(workflow: Workflow) -> Iterator[Diagnostic]:
    """W449: a group that goes on when a task fails, which is OSMO's default."""
    places: list[Route] = []
    for group in groups(workflow):
        if len(group.tasks) > 1 and group.data.get("ignoreNonleadStatus", True):
            key = "ignoreNonleadStatus" if "ignoreNonleadStatus" in group.data else "name"
            places.append((*group.route, key))
    message = "in OSMO this group goes on when a task fails that is not the lead; here a failed task ends its gang"
    hint = "let a command that may fail end with `|| true`, and write `ignoreNonleadStatus: false`"
    yield from gathered(warning, "W449", places, message, hint)


def check_reschedule(workflow: Workflow) -> Iterator[Diagnostic]:
    """W450: tasks that OSMO would start again."""
    places = [
        (*task.route, "exitActions", action)
        for task in tasks(workflow)
        for action in task.data.get("exitActions", {})
        if action.upper() == "RESCHEDULE"
    ]
    message = "OSMO starts the task again on these exit codes; here they are failures"
    yield from gathered(warning, "W450", places, message, "let the command itself try again")


def check_credentials(workflow: Workflow) -> Iterator[Diagnostic]:
    """W451: the Secrets that must exist in the namespace."""
    found = [
        (name, target, (*task.route, "credentials", name))
        for task in tasks(workflow)
        for name, target in task.data.get("credentials", {}).items()
    ]
    secrets = list(dict.fromkeys(k8s_name(name) for name, _, _ in found))
    if secrets:
        first = [target for name, target, _ in found if k8s_name(name) == secrets[0]]
        word = "Secret" if len(secrets) == 1 else "Secrets"
        named = listing(map(shorten, secrets), "and")
        message = f"credentials come from the {word} {named}, which must exist in the workflow's namespace"
        hint = f"make each with: kubectl create secret generic {secrets[0]} {_source(first)}"
        yield from gathered(info, "W451", [route for _, _, route in found], message, hint)


def _source(targets: list[Any]) -> str:
    """How kubectl takes the keys: those that are named, else the files of a folder."""
    keys = sorted({key for target in targets if isinstance(target, dict) for key in target.values()})
    return " ".join(f"--from-literal={key}=..." for key in keys[:5]) or "--from-file=FOLDER"
