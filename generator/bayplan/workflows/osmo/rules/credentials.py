"""Credentials as Secrets: names and keys that Kubernetes takes, and folders that hide nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.words import shorten
from bayplan.workflows.osmo.rules.places import Task, Workflow, tasks
from bayplan.workflows.osmo.units import k8s_name

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
SYSTEM = ("", "bin", "etc", "home", "lib", "opt", "root", "run", "sbin", "srv", "tmp", "usr", "var", "workspace")
"""Folders at the root that images fill themselves."""


def check_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W453: a Secret of that name, and keys in it, can exist, and no two credentials mean one Secret."""
    first: dict[str, tuple[str, Route]] = {}
    for name, target, route in _credentials(workflow):
        secret = k8s_name(name)
        if len(secret) > 253 or not SUBDOMAIN.fullmatch(secret):
            message = f'no Secret can be called "{shorten(secret)}"'
            yield error("W453", route, message, hint="use letters, digits, hyphens and dots")
        other, there = first.setdefault(secret, (name, route))
        if other != name:
            message = f'"{shorten(name)}" and "{shorten(other)}" are one Secret here, "{shorten(secret)}"'
            notes = (Note("the other", there),)
            yield error("W453", route, message, hint="let names differ in more than case and underscores", notes=notes)
        for variable, key in target.items() if isinstance(target, dict) else ():
            if not KEY.fullmatch(key):
                message = f'"{shorten(key)}" cannot be a key of a Secret'
                yield error("W453", (*route, variable), message, hint="use letters, digits, - _ and .")


def _credentials(workflow: Workflow) -> Iterator[tuple[str, Any, Route]]:
    for task in tasks(workflow):
        for name, target in task.data.get("credentials", {}).items():
            yield name, target, (*task.route, "credentials", name)


def check_folders(workflow: Workflow) -> Iterator[Diagnostic]:
    """W454 and W455: a Secret takes the whole of its folder; OSMO puts its files beside what is there."""
    for task in tasks(workflow):
        folders = {name: path for name, path in task.data.get("credentials", {}).items() if isinstance(path, str)}
        for name, path in folders.items():
            route: Route = (*task.route, "credentials", name)
            parts = [part for part in path.split("/") if part]
            if len(parts) < 2 and "".join(parts) in SYSTEM:
                message = f'the Secret hides what the image has in "{shorten(path)}"'
                yield warning("W454", route, message, hint="mount it in a folder of its own, such as /secrets/" + name)
            for inner, at in _mounted(task, folders):
                if at != route and "/".join(inner[: len(parts)]) == "/".join(parts) and len(inner) > len(parts):
                    there = shorten("/" + "/".join(inner))
                    message = f'"{there}" cannot be mounted inside the folder of the Secret "{name}"'
                    notes = (Note("the folder", route),)
                    yield error("W455", at, message, hint="choose folders that do not hold each other", notes=notes)


def _mounted(task: Task, folders: dict[str, str]) -> Iterator[tuple[list[str], Route]]:
    """The parts of every path that a task has mounted, with its place."""
    paths = [(path, (*task.route, "credentials", name)) for name, path in folders.items()]
    files = enumerate(task.data.get("files", ()))
    paths += [(file["path"], (*task.route, "files", number, "path")) for number, file in files]
    mounts = enumerate(task.data.get("volumeMounts", ()))
    paths += [(mount.rpartition(":")[2], (*task.route, "volumeMounts", number)) for number, mount in mounts]
    yield from (([part for part in path.split("/") if part], route) for path, route in paths)
