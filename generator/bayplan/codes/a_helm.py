"""Selection and policy: Helm's stream."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "A970": "an argument that is no standard input",
    "A971": "a document too large to be placed",
    "A972": "a file of bayplan among the manifests",
    "A973": "nothing to post-render",
    "A974": "several policies",
}
"""Code -> what it is about."""
