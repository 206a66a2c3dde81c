"""Manifests: slurm-bridge and SUNK."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M820": "metadata that slurm-bridge alone may write",
    "M821": "an annotation that slurm-bridge ignores",
    "M822": "an annotation that slurm-bridge cannot read",
    "M823": "an annotation in a place that slurm-bridge does not read",
    "M824": "a pod that slurm-bridge refuses",
    "M825": "a PodGroup that is missing",
    "M826": "a PodGroup that waits for too many pods",
    "M827": "an annotation that SUNK does not know",
    "M828": "a pod that ends too slowly for SUNK",
    "M829": "a pod that SUNK's lock evicts",
    "M830": "a pod without requests on SUNK",
    "M831": "pinned cores on SUNK",
}
