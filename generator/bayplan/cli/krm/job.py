"""One call of a kustomize function: its input, its answer, and the annotations that kustomize adds to objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.cli.options import Arguments
from bayplan.clients.resource_list import Item
from bayplan.kube.objects import api_group, mapping, text, without_annotations
from bayplan.report import Batch
from bayplan.text.document import Document

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of the file of a kustomization, in kustomize's order (api/konfig/general.go at 5.8.1)."""

API_VERSION = "bayplan.dev/v1alpha1"
KINDS: Mapping[str, str] = {
    "ExpandWorkflows": "expand.run",
    "PlaceWorkloads": "place.run",
    "ValidateWorkloads": "validate.run",
    "Workflow": "expand.generate",
}
"""Kind of the configuration -> module of this package and its function."""


class Job(NamedTuple):
    """One call. `args`: the command line with the options of the configuration. `plugin`: it is a legacy plugin.

    `document` has the text of the ResourceList or, for a plugin, that of the file with its configuration. `given`: the
    options of the command line. `results`: those of earlier functions.
    """

    args: Arguments
    config: Mapping[str, Any]
    items: tuple[Item, ...]
    document: Document
    version: str = ""
    plugin: bool = False
    given: frozenset[str] = frozenset()
    results: tuple[Any, ...] = ()

    @property
    def keeps_results(self) -> bool:
        """Whether the caller reads `results`, as kpt and `kustomize fn run` do.

        These annotate each object with its file. `kustomize build` does so for items that passed another function, but
        never for a configuration with a function (5.8.1).
        """
        travelling = wire(self.config)
        from_files = any(key in each.text or key in wire(each.data) for each in self.items[:1] for key in PATHS)
        return bool(path_of(self.config)) or (from_files and not any(key in travelling for key in FUNCTION))


PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
"""The annotation with the file of an object, and its former spelling."""

FUNCTION = ("config.kubernetes.io/function", "config.k8s.io/function")
"""The annotation of a configuration that names its program, and its former spelling."""


class Answer(NamedTuple):
    """Unchanged items or JSON. None: there are errors."""

    items: Sequence[Item | str] | None
    batches: Sequence[Batch]


WIRE = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
    "alpha.config.kubernetes.io/",
)
"""Prefixes of the annotations that kustomize and kpt add to objects between functions."""

MEANT = "config.kubernetes.io/depends-on"
"""An annotation with such a prefix that users write, for programs that apply objects (kpt, cli-utils)."""


def wire(data: Any) -> dict[str, Any]:
    """The annotations that kustomize and kpt added to an object."""
    annotations = mapping(data, "metadata", "annotations").items()
    return {key: value for key, value in annotations if str(key).startswith(WIRE) and key != MEANT}


def path_of(data: Any) -> str:
    """The file of an object, from its annotation. Empty if it has none."""
    annotations = wire(data)
    return next((str(annotations[key]) for key in PATHS if key in annotations), "")


def without_wire(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object without these annotations."""
    return without_annotations(data, wire(data))


def is_workflow(data: Any) -> bool:
    """Whether an object is a Workflow of bayplan, by its apiVersion and kind."""
    return api_group(data) == "bayplan.dev" and text(data, "kind") == "Workflow"
