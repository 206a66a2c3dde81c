"""kustomize's functions: what they are given, and how a kustomization calls them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "A960": "no ResourceList",
    "A961": "no function of bayplan",
    "A962": "an item that is no object",
    "A963": "a file among kustomize's objects",
    "A964": "a function in the wrong list",
    "A966": "a function that cannot be called",
    "A967": "a Workflow that nothing expands",
    "A968": "a name that leads nowhere",
    "A969": "names that change after a function",
}
"""Code -> what it is about."""
