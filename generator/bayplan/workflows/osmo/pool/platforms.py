"""Platforms, with what they have in common with their pool merged in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Route, error
from bayplan.workflows.osmo.pool import rules
from bayplan.workflows.osmo.pool.library import Library, names
from bayplan.workflows.osmo.pool.merging import Path, lay
from bayplan.workflows.osmo.pool.shapes import Part
from bayplan.workflows.osmo.pool.values import Platform, Rule

CONTROL = "osmo-ctrl"
"""OSMO's own container beside the user's."""


def read(pool: Part, library: Library) -> dict[str, Platform]:
    """The pool's platforms by name (postgres.py, Pool.calculate_pod_template and its neighbours). W475, W481, W495."""
    common = _templates(pool, "common_pod_template", library)
    shared = rules.read(pool, "common_resource_validations", library)
    listed = pool.data.get("platforms") or {}
    parts = {name: Part(data or {}, (*pool.route, "platforms", name)) for name, data in listed.items()}
    return {name: _platform(name, part, pool, common, shared, library) for name, part in parts.items()}


def _platform(
    name: str, part: Part, pool: Part, common: Sequence[Part], shared: tuple[Rule, ...], library: Library
) -> Platform:
    data = part.data
    whole = _parsed(part, library)
    sources = whole or [*common, *_templates(part, "override_pod_template", library)]
    template = _merged(sources, library) or _derived(data)
    own = rules.read(part, "resource_validations", library)
    given = library.has("resource_validations") or not data.get("parsed_resource_validations")
    return Platform(
        name=name,
        privileged_allowed=bool(data.get("privileged_allowed")),
        host_network_allowed=bool(data.get("host_network_allowed")),
        allowed_mounts=tuple(data.get("allowed_mounts") or ()),
        default_mounts=tuple(_mounts(template)) or tuple(data.get("default_mounts") or ()),
        variables=_variables(pool.data, data),
        rules=(*shared, *own) if given else own,
        pod_template=template,
        route=part.route,
        sources=tuple((each.data, each.route) for each in sources),
    )


def _templates(owner: Part, key: str, library: Library) -> list[Part]:
    """The pod templates that an owner names; of a file without any, what OSMO has merged already."""
    whole = _parsed(owner, library)
    if whole:
        return whole
    listed = names(owner.data, key, owner.route)
    if library.sections.listed and key.startswith("common"):
        listed = [("default_user", owner.route)]
    return library.entries("pod_templates", listed)


def _parsed(owner: Part, library: Library) -> list[Part]:
    data = owner.data.get("parsed_pod_template")
    return [Part(data, (*owner.route, "parsed_pod_template"))] if data and not library.has("pod_templates") else []


def _merged(sources: Sequence[Part], library: Library) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for data, route in sources:
        clashes: list[Path] = []
        made = lay(made, data or {}, clashes)
        for path in clashes:
            message = f'"{".".join(map(str, path))}" is a mapping here, and something else in a template below'
            library.found.append(error("W495", _known(data, route, path), message, hint="write both in the same way"))
    return made


def _known(data: Any, route: Route, path: Path) -> Route:
    """The route of a path as far as the data has it: places in merged lists are others than in the source."""
    for step in path:
        if not (isinstance(data, Mapping) and step in data):
            break
        data, route = data[step], (*route, step)
    return route


def _derived(data: Mapping[str, Any]) -> dict[str, Any]:
    """What OSMO derived from a template that the file does not have."""
    spec = {key: data.get(name) for key, name in (("nodeSelector", "labels"), ("tolerations", "tolerations"))}
    given = {key: value for key, value in spec.items() if value}
    return {"spec": given} if given else {}


def _variables(pool: Mapping[str, Any], platform: Mapping[str, Any]) -> dict[str, Any]:
    return {**(pool.get("common_default_variables") or {}), **(platform.get("default_variables") or {})}


def _mounts(template: Mapping[str, Any]) -> Iterator[str]:
    """Where the template mounts into containers of the user (postgres.py, Pool.get_default_mounts)."""
    for container in (template.get("spec") or {}).get("containers") or ():
        if container.get("name") != CONTROL:
            for mount in container.get("volumeMounts") or ():
                if isinstance(mount.get("mountPath"), str):
                    yield mount["mountPath"]
