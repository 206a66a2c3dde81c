"""Files that a command does not read: what they are, and which command reads them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bayplan.kube.objects import api_group, get, items, text
from bayplan.kube.shell import operand
from bayplan.kube.workloads import WORKLOADS
from bayplan.text.document import Document


class OtherFile(NamedTuple):
    """What a file is, such as `a JobSet`, and what to run with it."""

    title: str
    hint: str


_NODES = re.compile(r"NAME +STATUS +ROLES ")
_BATCH = re.compile(r"^#SBATCH ", re.MULTILINE)


def recognize(document: Document) -> OtherFile | None:
    """What a document is that has another format than the command reads. None: bayplan knows no such format."""
    return not_a_manifest(document) or _manifest(document.data, document.name)


def not_a_manifest(document: Document) -> OtherFile | None:
    """The same, for documents that are not Kubernetes objects."""
    data, name = document.data, _shown(document.name)
    group, kind = api_group(data), text(data, "kind")
    if group == "bayplan.dev":
        return OtherFile(f"a {kind} of bayplan", _CHECKS.get(kind, "").format(name))
    if kind:
        return None
    folder, base = os.path.split(document.name)
    if isinstance(data, str) and _NODES.match(data):
        hint = "run `kubectl get nodes -o json > nodes.json`, then `bayplan topology import nodes.json`"
        return OtherFile("a table of `kubectl get nodes`", hint)
    if isinstance(data, str) and _BATCH.search(document.text):
        return OtherFile("an sbatch script", f"run `bayplan check {name}`")
    if isinstance(get(data, "workflow", "tasks") or get(data, "workflow", "groups"), list):
        return OtherFile("an OSMO workflow", f"run `bayplan check {name}`")
    return in_folder(base, folder) if base in FOLDERS and isinstance(data, Mapping) else None


_CHECKS = {
    "Workflow": "check it with `bayplan check {}`",
    "ClusterTopology": "check it with `bayplan topology check {}`",
}


FOLDERS: Mapping[str, tuple[str, str]] = {
    "Chart.yaml": ("a Helm chart", "helm template {}"),
    "kustomization.yaml": ("a kustomization", "kubectl kustomize {}"),
    "kustomization.yml": ("a kustomization", "kubectl kustomize {}"),
    "Kustomization": ("a kustomization", "kubectl kustomize {}"),
}
"""A file -> what the folder with it is, and the command that builds its manifests."""


def in_folder(base: str, folder: str) -> OtherFile:
    """What a folder is that has the file `base`."""
    title, command = FOLDERS[base]
    build = command.format(operand(folder or "."))
    return OtherFile(title, f"run `{build} | bayplan lint -`, or `{build} | {PLACE}`")


PLACE = "bayplan post-render -t TOPOLOGY"


def _shown(name: str) -> str:
    """A file name for a command."""
    return "FILE" if name.startswith("<") else operand(name)


def _manifest(data: Any, name: str) -> OtherFile | None:
    """Objects of a cluster, or a list of them."""
    first = next(iter(items(data, "items")), data)
    kind = text(first, "kind")
    if not kind or not text(first, "apiVersion"):
        return None
    key = api_group(first), kind
    if key == ("kustomize.config.k8s.io", "Kustomization"):
        return in_folder("kustomization.yaml", os.path.dirname(name))
    name = _shown(name)
    if key == ("", "Node"):
        return OtherFile("a list of nodes", f"make a topology of it: `bayplan topology import {name}`")
    lint = f"`bayplan lint {name}`"
    if key in WORKLOADS:
        annotate = "annotate it with `bayplan.dev/placement: required=LEVEL`"
        hint = f"{annotate}, then run `{PLACE} < {name}`; or find its mistakes with {lint}"
        return OtherFile(f"a Kubernetes {kind}", f"{hint}; `plan` and `check` read it as it is")
    return OtherFile(f"a Kubernetes {kind}", f"find its mistakes with {lint}")
