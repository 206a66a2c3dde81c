"""Group templates: objects that OSMO makes for every task group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.workflows.osmo.pool.library import Library, names
from bayplan.workflows.osmo.pool.merging import lay
from bayplan.workflows.osmo.pool.shapes import Part
from bayplan.workflows.osmo.pool.values import GroupTemplate, PoolConfig

COMPUTE_DOMAIN = "ComputeDomain"


def read(pool: Part, library: Library) -> tuple[GroupTemplate, ...]:
    """The pool's group templates, merged as OSMO does (postgres.py, Pool.calculate_group_templates). W475, W480."""
    parsed = pool.data.get("parsed_group_templates")
    if parsed and not library.has("group_templates"):
        parts = [Part(each, (*pool.route, "parsed_group_templates", n)) for n, each in enumerate(parsed)]
    else:
        listed = names(pool.data, "common_group_templates", pool.route)
        parts = library.entries("group_templates", listed)
    merged: dict[tuple[str, str, str], GroupTemplate] = {}
    for part in parts:
        wrong = tuple(_wrong(part))
        library.found.extend(wrong)
        if not wrong:
            _merge(part, merged)
    return tuple(merged.values())


def _merge(part: Part, merged: dict[tuple[str, str, str], GroupTemplate]) -> None:
    data = part.data
    key = (data["apiVersion"], data["kind"], data["metadata"]["name"])
    below = merged[key].data if key in merged else {}
    merged[key] = GroupTemplate(key[2], key[1], key[0], lay(below, data, []), part.route)


def _wrong(part: Part) -> Iterator[Diagnostic]:
    data: Any = part.data or {}
    metadata = data.get("metadata") or {}
    for missing, value in (
        ("apiVersion", data.get("apiVersion")),
        ("kind", data.get("kind")),
        ("metadata.name", metadata.get("name")),
    ):
        if not value:
            message = f"a group template without {missing} makes no object"
            yield error("W480", part.route, message, hint=f"add `{missing}`")
    if metadata.get("namespace"):
        route: Route = (*part.route, "metadata", "namespace")
        message = "a group template may not name a namespace: OSMO makes it in the namespace of the pods"
        yield error("W480", route, message, hint="remove it")


def unneeded(config: PoolConfig) -> tuple[Diagnostic, ...]:
    """W490 for ComputeDomains, which bayplan makes by itself, and W491 for all else, which nobody would make."""
    return tuple(_fate(template) for template in config.group_templates)


def _fate(template: GroupTemplate) -> Diagnostic:
    if template.kind == COMPUTE_DOMAIN:
        message = f'the ComputeDomain "{template.name}" of every task group is not taken over: bayplan makes its own'
        hint = "it makes them for gangs that need one, and none for single pods or pods without GPUs"
        return info("W490", template.route, message, hint=hint)
    message = f'OSMO makes the {template.kind} "{template.name}" for every task group, and bayplan does not'
    hint = "apply it with the manifests if the pods need it, its variables filled in"
    return warning("W491", template.route, message, hint=hint)


def channels(config: PoolConfig) -> tuple[str, ...]:
    """Names of the claim templates that the driver makes for the ComputeDomains, as written."""
    domains = (each.data.get("spec") for each in config.group_templates if each.kind == COMPUTE_DOMAIN)
    found = (_channel(spec) for spec in domains)
    return tuple(name for name in found if name)


def _channel(spec: Any) -> str:
    for key in ("channel", "resourceClaimTemplate", "name"):
        spec = spec.get(key) if isinstance(spec, dict) else None
    return spec if isinstance(spec, str) else ""
