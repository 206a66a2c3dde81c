"""Names in pod templates that bayplan uses in its pods for something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.own import OWN_NAMES

OURS: Mapping[str, tuple[str, ...]] = {**OWN_NAMES, "volumes": ("files",)}
"""List of a pod -> names in it. OSMO's workflows never get a volume `shm` of ours."""

USES: Mapping[str, str] = {
    "volumes": "volumes",
    "volumeMounts": "volumes",
    "volumeDevices": "volumes",
    "resourceClaims": "resourceClaims",
    "claims": "resourceClaims",
}
"""List -> the list that its names are of."""

PREFIX = "pool-"

Names = Mapping[tuple[str, str], str]
"""List and old name -> new name."""


def renamed(template: Mapping[str, Any], places: Mapping[Route, Route]) -> tuple[Mapping[str, Any], dict[Route, Route]]:
    """The template and its places with other names for volumes and claims that are called as bayplan's own."""
    spec = template.get("spec") or {}
    names = {(key, name): _free(name, taken) for key, taken in _taken(spec).items() for name in OURS[key]}
    if not any(name in taken for key, taken in _taken(spec).items() for name in OURS[key]):
        return template, dict(places)
    made = {**template, "spec": _renamed(spec, names)}
    return made, {_route(route, names): place for route, place in places.items()}


def _taken(spec: Mapping[str, Any]) -> dict[str, set[str]]:
    return {key: {str(each.get("name")) for each in spec.get(key) or ()} for key in OURS}


def _free(name: str, taken: set[str]) -> str:
    while (name := PREFIX + name) in taken:
        pass
    return name


def _renamed(value: Any, names: Names, key: str = "") -> Any:
    """The value, `key` the field that it is of."""
    if isinstance(value, Mapping):
        return {name: _renamed(each, names, str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_called(_renamed(each, names), key, names) for each in value]
    return value


def _called(entry: Any, key: str, names: Names) -> Any:
    new = names.get((USES.get(key, ""), str(entry.get("name")))) if isinstance(entry, Mapping) else None
    return {**entry, "name": new} if new else entry


def _route(route: Route, names: Names) -> Route:
    pairs = zip(("", *route), route, strict=False)
    return tuple(names.get((USES.get(str(above), ""), str(step)), step) for above, step in pairs)
