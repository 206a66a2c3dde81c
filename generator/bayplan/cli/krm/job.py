"""One call of kustomize's function: what it was given, what it answers, and annotations that travel with objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.cli.options import Arguments
from bayplan.clients.resource_list import Item
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import api_group, mapping, text, without_annotations
from bayplan.report import Batch

API_VERSION = "bayplan.dev/v1alpha1"
KINDS: Mapping[str, str] = {
    "ExpandWorkflows": "expand.run",
    "PlaceWorkloads": "place.run",
    "ValidateWorkloads": "validate.run",
    "Workflow": "expand.generate",
}
"""Kind of the function's configuration -> the module below, and the function in it, that does the work."""


class Job(NamedTuple):
    """One call. `given`: the command line together with the configuration's spec; `plugin`: of the older kind."""

    args: Arguments
    config: Mapping[str, Any]
    items: tuple[Item, ...]
    version: str = ""
    plugin: bool = False

    @property
    def keeps_results(self) -> bool:
        """Whether the caller reads `results`: kpt, and `kustomize fn run`.

        Those say which file an object is from. `kustomize build` says it too, of items that went through a function
        already, but never of the configuration (5.8.1), in which it has found the function.
        """
        travelling = wire(self.config)
        from_files = any(PATH in each.text or PATH in wire(each.data) for each in self.items[:1])
        return PATH in travelling or (from_files and not any(key in travelling for key in FUNCTION))


PATH = "internal.config.kubernetes.io/path"
"""The annotation that says which file an object is from."""

FUNCTION = ("config.kubernetes.io/function", "config.k8s.io/function")
"""The annotation by which a configuration names its program, and its former spelling."""


class Answer(NamedTuple):
    """Items as they came or JSON texts; None where something failed."""

    items: Sequence[Item | str] | None
    batches: Sequence[Batch]


WIRE = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
    "alpha.config.kubernetes.io/",
)
"""Annotations that kustomize and kpt put on what they pass around, by their beginning."""

MEANT = "config.kubernetes.io/depends-on"
"""One of these that users write, for those who apply objects (kpt, cli-utils)."""


def wire(data: Any) -> dict[str, Any]:
    """The annotations that travel with an object."""
    annotations = mapping(data, "metadata", "annotations").items()
    return {key: value for key, value in annotations if str(key).startswith(WIRE) and key != MEANT}


def without_wire(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object without the annotations that travel with it."""
    return without_annotations(data, wire(data))


def is_workflow(data: Any) -> bool:
    """Whether it claims to be a Workflow of bayplan."""
    return api_group(data) == "bayplan.dev" and text(data, "kind") == "Workflow"
