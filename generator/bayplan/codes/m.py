"""Manifests: what is found in documents that are read back."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M701": "pods outside the subgroups of their PodGroup",
}
