"""Lay one pod template over another, as Kubernetes' strategic merge patch does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "env": ("name",),
    "ports": ("containerPort",),
    "resourceClaims": ("name",),
    "claims": ("name",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "schedulingGates": ("name",),
}
"""List field -> the keys by which its entries merge (`patchMergeKey` in kubernetes/api core/v1, 1.37; of
topologySpreadConstraints the `listMapKey`s, since two that differ in whenUnsatisfiable are two)."""

REPLACED = ("volumes", "resourceClaims")
"""Lists whose entries are replaced as a whole (`patchStrategy: retainKeys`): a volume has one source, not two."""


def overlay(base: Any, patch: Any, field: str = "") -> Any:
    """`patch` over `base`, as Kubernetes' strategic merge patch does it: whatever MERGE_KEYS leaves out is replaced."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        merged = {key: overlay(base.get(key), value, key) for key, value in patch.items() if value is not None}
        return {
            key: merged.pop(key, value) for key, value in base.items() if patch.get(key, value) is not None
        } | merged
    if isinstance(patch, Mapping):
        return {key: overlay(None, value, key) for key, value in patch.items() if value is not None}
    if isinstance(patch, (list, tuple)):
        return _overlay_list(base or (), patch, field) if field in MERGE_KEYS else list(patch)
    return patch


def identity(field: str, entry: Any) -> tuple[str, ...]:
    """What tells the entries of a list that merges apart; of what is no mapping, all of it."""
    if not isinstance(entry, Mapping):
        return ("", repr(entry))
    return tuple(str(entry.get(key)) for key in MERGE_KEYS[field])


def _overlay_list(base: Sequence[Any], patch: Sequence[Any], field: str) -> list[Any]:
    """Entries of the same identity merge in place or are replaced there, new ones follow."""
    merged: list[Any] = list(base)
    places: dict[tuple[str, ...], int] = {}
    for place, entry in enumerate(base):
        places.setdefault(identity(field, entry), place)
    for entry in patch:
        place = places.setdefault(identity(field, entry), len(merged))
        below = merged[place] if place < len(merged) and field not in REPLACED else None
        merged[place : place + 1] = [overlay(below, entry)]
    return merged
