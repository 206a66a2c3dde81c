"""Manifests: slurm."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M790": "segments that do not divide a job",
}
