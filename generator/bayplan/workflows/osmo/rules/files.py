"""Files, mounts of Secrets and of the node's folders (OSMO 6.4, src/utils/job/task.py)."""

from __future__ import annotations

import binascii
from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, error
from bayplan.words import shorten
from bayplan.workflows.osmo.rules.places import Workflow, entries, tasks

DATA = "/osmo/data"
"""Where OSMO's tokens `{{output}}` and `{{input:N}}` lead (src/utils/job/kb_objects.py)."""

OUTPUT = f"{DATA}/output/"


def check_paths(workflow: Workflow) -> Iterator[Diagnostic]:
    """W423: a file has a path, and neither it nor the mount of a Secret lies below /osmo."""
    for file, route in entries(workflow, "files"):
        path = file["path"]
        if not path.startswith(OUTPUT):
            yield from _path(path, (*route, "path"), is_file=True)
        elif path.endswith("/"):
            yield _no_file(path, (*route, "path"))
    for task in tasks(workflow):
        for name, target in task.data.get("credentials", {}).items():
            if isinstance(target, str):
                yield from _path(target, (*task.route, "credentials", name), is_file=False)


def _path(path: str, route: Route, is_file: bool) -> Iterator[Diagnostic]:
    parts = [part for part in path.split("/") if part]
    if not parts:
        hint = "write an absolute path such as /tmp/config"
        yield error("W423", route, f'"{shorten(path)}" leads nowhere', hint=hint)
    elif parts[0] == "osmo":
        message = f'"{shorten(path)}" lies below /osmo, which belongs to OSMO'
        hint = f"use another folder, or {OUTPUT} for a file of the output" if is_file else "use another folder"
        yield error("W423", route, message, hint=hint)
    elif ":" in path:
        yield error("W423", route, f'"{shorten(path)}" has a colon, which no mount may have', hint="remove the colon")
    elif is_file and path.endswith("/"):
        yield _no_file(path, route)


def _no_file(path: str, route: Route) -> Diagnostic:
    return error("W423", route, f'"{shorten(path)}" is a folder, expected a file', hint="add the name of the file")


def check_twins(workflow: Workflow) -> Iterator[Diagnostic]:
    """W424: two files of a task at one path."""
    for task in tasks(workflow):
        first: dict[str, int] = {}
        for index, file in enumerate(task.data.get("files", ())):
            path = "/".join(part for part in file["path"].split("/") if part)
            there = first.setdefault(path, index)
            if there != index:
                route: Route = (*task.route, "files")
                notes = (Note("the first", (*route, there, "path")),)
                message = f'task "{task.name}" has two files at "/{shorten(path)}"'
                yield error("W424", (*route, index, "path"), message, hint="give each its own path", notes=notes)


def check_contents(workflow: Workflow) -> Iterator[Diagnostic]:
    """W425: contents with `base64: true` are base64. Line breaks do not matter, as in Kubernetes."""
    for file, route in entries(workflow, "files"):
        if file.get("base64"):
            try:
                binascii.a2b_base64("".join(file["contents"].splitlines()), strict_mode=True)
            except ValueError as problem:
                message = f"the contents are not base64: {str(problem).lower()}"
                yield error("W425", (*route, "contents"), message, hint="encode them, or remove `base64`")


def check_mounts(workflow: Workflow) -> Iterator[Diagnostic]:
    """W426: a mount is a path, or two with a colon between."""
    for mount, route in entries(workflow, "volumeMounts"):
        parts = mount.split(":")
        if len(parts) > 2 or not all(parts):
            hint = "write the folder on the node, or that and the folder in the container: /mnt/data:/data"
            yield error("W426", route, f'"{shorten(mount)}" is no mount', hint=hint)
