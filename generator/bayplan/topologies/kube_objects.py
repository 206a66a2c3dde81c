"""The Kubernetes objects of a file, alone or in lists, with where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.kube.objects import flattened
from bayplan.model.formats import SourceFile
from bayplan.model.manifest import Object


def kube_objects(source: SourceFile) -> Iterator[tuple[Route, Any]]:
    """Every object; a List's items in its place."""
    for number, document in enumerate(source.documents):
        for one in flattened(Object(source.at(number), document.data)):
            yield one.route, one.data
