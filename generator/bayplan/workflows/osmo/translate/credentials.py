"""Credentials of a task -> references to Secrets of the same names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.workflows.osmo.translate.source import Task
from bayplan.workflows.osmo.units import k8s_name


def variables(task: Task) -> dict[str, dict[str, Any]]:
    """Environment variable -> its reference. Where two give one variable the later counts, and so it does before a
    plain one (OSMO 6.4 appends them in this order, and Kubernetes takes the last)."""
    return {
        variable: {"secretKeyRef": {"name": k8s_name(name), "key": key}}
        for name, keys in _credentials(task)
        if isinstance(keys, Mapping)
        for variable, key in keys.items()
    }


def volumes(task: Task) -> Iterator[dict[str, Any]]:
    """One for each folder; several Secrets of one folder are projected into it together."""
    for number, secrets in enumerate(_folders(task).values()):
        name = f"osmo-credentials-{number}"
        if len(secrets) == 1:
            yield {"name": name, "secret": {"secretName": secrets[0]}}
        else:
            yield {"name": name, "projected": {"sources": [{"secret": {"name": each}} for each in secrets]}}


def mounts(task: Task) -> Iterator[dict[str, Any]]:
    """The folders, in the order of their volumes."""
    for number, path in enumerate(_folders(task)):
        yield {"name": f"osmo-credentials-{number}", "mountPath": path, "readOnly": True}


def _folders(task: Task) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, target in _credentials(task):
        if isinstance(target, str):
            found.setdefault(target.rstrip("/"), []).append(k8s_name(name))
    return found


def _credentials(task: Task) -> Iterator[tuple[str, Any]]:
    return iter(task.data.get("credentials", {}).items())
