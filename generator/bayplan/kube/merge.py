"""Lay one pod template over another, as Kubernetes' strategic merge patch does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MERGE_KEYS: Mapping[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "env": "name",
    "ports": "containerPort",
    "resourceClaims": "name",
    "claims": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
}
"""List field -> the key by which its entries merge (`patchMergeKey` in kubernetes/api core/v1, 1.37)."""


def overlay(base: Any, patch: Any, field: str = "") -> Any:
    """`patch` over `base`: maps merge, lists merge by Kubernetes' merge keys, null deletes, all else is replaced."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        merged = {key: overlay(base.get(key), value, key) for key, value in patch.items() if value is not None}
        return {
            key: merged.pop(key, value) for key, value in base.items() if patch.get(key, value) is not None
        } | merged
    if isinstance(patch, Mapping):
        return {key: overlay(None, value, key) for key, value in patch.items() if value is not None}
    if isinstance(patch, (list, tuple)):
        key = MERGE_KEYS.get(field, "")
        return overlay_list(list(base or ()), list(patch), key) if key else list(patch)
    return patch


def overlay_list(base: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Entries with the same `key` merge in place, new ones follow."""
    by_key = {entry[key]: entry for entry in patch if isinstance(entry, Mapping) and key in entry}
    kept = [overlay(entry, by_key.pop(entry.get(key), {})) for entry in base]
    return kept + [overlay(None, entry) for entry in by_key.values()]
