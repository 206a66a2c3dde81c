"""A file -> the configuration of one pool, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan import schema
from bayplan.diagnostics import KEY, Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.document import Document
from bayplan.words import did_you_mean, suggest
from bayplan.workflows.osmo.pool import groups, keys, platforms, shapes
from bayplan.workflows.osmo.pool.built_in import BUILT_IN
from bayplan.workflows.osmo.pool.library import Library
from bayplan.workflows.osmo.pool.merging import helm
from bayplan.workflows.osmo.pool.shapes import SECTIONS, Part, Sections
from bayplan.workflows.osmo.pool.values import SUBJECT, Platform, PoolConfig
from bayplan.workflows.osmo.units import seconds

KIND = "OsmoPool"

KNOWN: Mapping[str, tuple[str, ...]] = {
    "pool": (
        *("name", "description", "status", "download_type", "enable_maintenance", "backend", "default_platform"),
        *("default_exec_timeout", "default_queue_timeout", "max_exec_timeout", "max_queue_timeout"),
        *("default_exit_actions", "resources", "topology_keys", "common_default_variables"),
        *("common_resource_validations", "parsed_resource_validations", "common_pod_template"),
        *("parsed_pod_template", "parsed_pod_template_for_accounting", "common_group_templates"),
        *("parsed_group_templates", "platforms", "last_heartbeat", "resource_usage", "created_date", "id"),
    ),
    "platform": (
        *("description", "host_network_allowed", "privileged_allowed", "allowed_mounts", "default_mounts"),
        *("tolerations", "labels", "default_variables", "resource_validations", "parsed_resource_validations"),
        *("override_pod_template", "parsed_pod_template", "parsed_pod_template_for_accounting"),
    ),
}
"""Keys that OSMO reads or writes; it ignores all others (src/utils/connectors/postgres.py, `extra='ignore'`)."""

TIMEOUTS = ("default_exec_timeout", "max_exec_timeout", "default_queue_timeout", "max_queue_timeout")


def read(document: Document, name: str = "") -> Outcome[PoolConfig]:
    """The pool of that name in a file; without one, or with another, the only pool. W471 to W480, W493 to W495."""
    found = shapes.sections(document.data)
    if found.value is None:
        return Outcome(None, found.diagnostics)
    chosen = shapes.select(found.value, name)
    if chosen.value is None:
        return Outcome(None, chosen.diagnostics)
    made = pool(found.value, *chosen.value)
    return Outcome(made.value, (*chosen.diagnostics, *made.diagnostics))


def read_all(document: Document) -> tuple[tuple[PoolConfig, ...], tuple[Diagnostic, ...]]:
    """Every pool of a file that is sound, and what is wrong with all."""
    found = shapes.sections(document.data)
    if found.value is None:
        return (), found.diagnostics
    made = [pool(found.value, name, part) for name, part in found.value.pools.items()]
    told = tuple(each for one in made for each in one.diagnostics)
    return tuple(one.value for one in made if one.value is not None), told


def pool(found: Sections, name: str, part: Part) -> Outcome[PoolConfig]:
    """One pool of a file."""
    invalid = _refused(found, name, part)
    if invalid:
        return Outcome(None, invalid)
    library = Library(found, [], {})
    part = library.completed("pools", name, part)
    levels, wrong = keys.read(part.data, part.route)
    library.found.extend((*_ignored(part), *wrong, *_default_platform(part)))
    made = PoolConfig(
        name=name,
        keys=levels,
        default_platform=part.data.get("default_platform") or "",
        platforms=platforms.read(part, library),
        group_templates=groups.read(part, library),
        default_exit_actions={key: str(v) for key, v in (part.data.get("default_exit_actions") or {}).items()},
        guarantee=((part.data.get("resources") or {}).get("gpu") or {}).get("guarantee", -1),
        route=part.route,
        **_timeouts(part, library),
        namespace=_backend(part, found)[0],
        scheduler=_backend(part, found)[1],
    )
    told = library.said()
    return Outcome(None if has_errors(told) else made, told)


def platform(config: PoolConfig, name: str, route: Route) -> Outcome[Platform]:
    """The platform of that name, else the pool's default one. W486 where there is none."""
    wanted = name or config.default_platform
    if wanted in config.platforms:
        return Outcome(config.platforms[wanted])
    if not wanted:
        message = f'neither the resource nor the pool "{config.name}" names a platform'
        hint = f"add `platform:`; {suggest('', config.platforms, 'the pool has')}"
        return Outcome(None, (error("W486", route, message, hint=hint.rstrip("; ")),))
    message = f'the pool "{config.name}" has no platform "{wanted}"'
    return Outcome(None, (error("W486", route, message, hint=suggest(wanted, config.platforms, "it has")),))


def _refused(found: Sections, name: str, part: Part) -> tuple[Diagnostic, ...]:
    """What the schema refuses, at its place in the file."""
    others = {section: each for section, each in found.others.items() if section in SECTIONS}
    data = {"pools": {name: part.data}, **{section: each.data for section, each in others.items()}}
    back: dict[Route, Route] = {("pools", name): part.route, **{(s,): each.route for s, each in others.items()}}
    told = schema.validate(KIND, data, SUBJECT)
    return tuple(each._replace(route=_placed(each.route, back)) for each in told)


def _placed(route: Route, back: Mapping[Route, Route]) -> Route:
    inner = route[1:]
    cut = next((n for n in range(len(inner), 0, -1) if inner[:n] in back), 0)
    return (*back[inner[:cut]], *inner[cut:]) if cut else route


def _ignored(part: Part) -> Iterator[Diagnostic]:
    """W474."""
    below = (part.data.get("platforms") or {}).items()
    owners = [("pool", part), *(("platform", Part(each, (*part.route, "platforms", name))) for name, each in below)]
    sections = {key for names in SECTIONS.values() for key in names}
    for what, (data, route) in owners:
        for key in data or {}:
            if key not in KNOWN[what] and not (what == "pool" and key in sections):
                message = f'OSMO ignores the key "{key}" of a {what}'
                hint = did_you_mean(key, KNOWN[what]) or _elsewhere(key, what) or "remove it"
                yield warning("W474", (*route, key, KEY), message, hint=hint)


def _elsewhere(key: str, what: str) -> str:
    return next((f"it is a key of a {other}" for other, known in KNOWN.items() if other != what and key in known), "")


def _default_platform(part: Part) -> Iterator[Diagnostic]:
    """W476."""
    name, known = part.data.get("default_platform"), part.data.get("platforms") or {}
    if name and name not in known:
        message = f'the default platform "{name}" is none of the pool\'s platforms'
        hint = suggest(name, known, "it has") or "add it to `platforms`"
        yield error("W476", (*part.route, "default_platform"), message, hint=hint)


def _backend(part: Part, found: Sections) -> tuple[str, str]:
    """Namespace and scheduler of the pool's cluster, as far as the file has them."""
    backend = found.section("backends").data.get(part.data.get("backend")) or {}
    settings = backend.get("scheduler_settings") or {}
    return backend.get("k8s_namespace") or "", settings.get("scheduler_name") or ""


def _timeouts(part: Part, library: Library) -> dict[str, Any]:
    """Timeouts in seconds: the pool's, else those of the file's workflow section. W493 for what is no duration."""
    section = library.sections.section("workflow")
    if library.sections.helm:
        section = Part(helm(BUILT_IN["workflow"], section.data), section.route)
    made: dict[str, Any] = {}
    for key in TIMEOUTS:
        owner = part if part.data.get(key) else section
        text = owner.data.get(key)
        made[key] = seconds(text) if text else None
        if text and made[key] is None:
            message = f'"{text}" is no duration'
            hint = "write a whole number and one of d, h, m, s: `12h`"
            library.found.append(error("W493", (*owner.route, key), message, hint=hint))
    return made
