"""A kustomization and those below it, with the functions that each lists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.cli.krm import sources
from bayplan.kube.safe import mapping
from bayplan.text.document import Document
from bayplan.values import NamedTuple

LISTS = ("generators", "transformers", "validators")

MOST = 1000
"""Ways through a tree of kustomizations that are followed: folders that list each other's bases multiply them."""


class Listed(NamedTuple):
    """A document that a kustomization lists. `key`: the list in which it stands."""

    subject: str
    key: str
    document: Document

    @property
    def data(self) -> Any:
        """What it holds."""
        return self.document.data


class Kustomization(NamedTuple):
    """One folder. `above`: the kustomizations that lead to it, outermost first."""

    folder: str
    subject: str
    document: Document
    above: tuple[Any, ...]
    functions: tuple[Listed, ...]
    resources: tuple[Listed, ...]


def walk(folder: str) -> list[Kustomization]:
    """The kustomization of a folder and all below it; empty where there is none."""
    found: list[Kustomization] = []
    _walk(folder, (), found)
    return found


def _walk(folder: str, above: tuple[Kustomization, ...], found: list[Kustomization]) -> None:
    document = sources.kustomization(folder)
    if document is None or len(above) >= sources.DEEPEST or len(found) >= MOST:
        return
    subject = f"kustomization:{len(found)}"
    functions = tuple(_listed(folder, document, LISTS, subject, deep=True))
    resources = tuple(_listed(folder, document, ("resources", "bases"), subject))
    own = Kustomization(folder, subject, document, above, functions, resources)
    found.append(own)
    for key in ("resources", "bases", "components"):
        for word in sources.words(document.data, key):
            _walk(os.path.normpath(os.path.join(folder, word)), (*above, own), found)


def _listed(
    folder: str, document: Document, keys: tuple[str, ...], subject: str, deep: bool = False
) -> Iterator[Listed]:
    """The objects in the files of some lists; `deep`: in folders too."""
    for key in keys:
        for number, word in enumerate(sources.words(document.data, key)):
            path = os.path.normpath(os.path.join(folder, word))
            held = sources.objects(path) if deep else sources.documents(path)
            for index, each in enumerate(held):
                if isinstance(each.data, dict):
                    yield Listed(f"{subject}:{key}:{number}:{index}", key, each)


def documents(each: Kustomization) -> Iterator[tuple[str, Document]]:
    """Subject and document of everything that diagnostics may name."""
    yield each.subject, each.document
    yield from ((one.subject, one.document) for one in (*each.functions, *each.resources))


def annotated(data: Any) -> Mapping[str, Any]:
    """The annotations of an object."""
    return mapping(data, "metadata", "annotations")


def ours(data: Any) -> bool:
    """Whether an object is of bayplan's own API."""
    return str(data.get("apiVersion", "")).startswith("bayplan.dev/")
