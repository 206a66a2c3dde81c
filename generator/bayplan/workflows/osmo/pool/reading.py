"""A file -> the configuration of one pool, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayplan import schemas
from bayplan.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.text.document import Document
from bayplan.words import suggest
from bayplan.workflows.osmo.pool import fields, groups, platforms, shapes
from bayplan.workflows.osmo.pool.library import Library
from bayplan.workflows.osmo.pool.shapes import SECTIONS, Part, Sections
from bayplan.workflows.osmo.pool.values import SUBJECT, Platform, PoolConfig

KIND = "OsmoPool"


def read(document: Document, name: str = "") -> Outcome[PoolConfig]:
    """The pool of that name in a file; without one, or with another, the only pool. W471 to W480, W493 to W495.

    There may be a pool and errors: whoever asks can judge more with it, and makes nothing of it.
    """
    found = shapes.sections(document.data)
    if found.value is None:
        return Outcome(None, found.diagnostics)
    chosen = shapes.select(found.value, name)
    if chosen.value is None:
        return Outcome(None, chosen.diagnostics)
    made = pool(found.value, *chosen.value)
    return Outcome(made.value, (*chosen.diagnostics, *made.diagnostics))


def read_all(document: Document) -> tuple[tuple[PoolConfig, ...], tuple[Diagnostic, ...]]:
    """Every pool of a file that can be read, and what is wrong with all."""
    found = shapes.sections(document.data)
    if found.value is None:
        return (), found.diagnostics
    made = [pool(found.value, name, part) for name, part in found.value.pools.items()]
    told = tuple(dict.fromkeys(each for one in made for each in one.diagnostics))
    return tuple(one.value for one in made if one.value is not None), told


def pool(found: Sections, name: str, part: Part) -> Outcome[PoolConfig]:
    """One pool of a file, without the fields that are wrong. None where the rest would mean something else then."""
    refused = _refused(found, name, part)
    part = _without(part, refused)
    if not all(fields.alone(each, part.route) for each in refused):
        return Outcome(None, (*refused, *_besides(found, name, part)))
    library = Library(found, [*refused], {})
    part = library.completed("pools", name, part)
    own = fields.read(part, found)
    library.found.extend(own.found)
    namespace, scheduler = _backend(part, found)
    made = PoolConfig(
        name=name,
        keys=own.keys,
        default_platform=own.default_platform,
        platforms=platforms.read(part, library),
        group_templates=groups.read(part, library),
        default_exit_actions=own.exit_actions,
        guarantee=own.guarantee,
        namespace=namespace,
        scheduler=scheduler,
        route=part.route,
        places=own.places,
        **own.timeouts,
    )
    told = library.said()
    fatal = has_errors([each for each in told if not fields.alone(each, part.route)])
    return Outcome(None if fatal else made, told)


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
    told = schemas.validate(KIND, data, SUBJECT)
    return tuple(each._replace(route=_placed(each.route, back)) for each in told)


def _without(part: Part, refused: Iterable[Diagnostic]) -> Part:
    """The pool without the fields that its schema refused, and without a default of platforms that it refused."""
    length = len(part.route)
    keys = {each.route[length] for each in refused if each.route[:length] == part.route and len(each.route) > length}
    keys |= {"default_platform"} if "platforms" in keys else set()
    return Part({key: value for key, value in part.data.items() if key not in keys}, part.route)


def _besides(found: Sections, name: str, part: Part) -> tuple[Diagnostic, ...]:
    """What is wrong with the fields that a schema did not refuse."""
    left = _refused(found, name, part)
    if any(each.route[: len(part.route)] == part.route for each in left):
        return ()
    known = {each.route for each in left}
    return tuple(each for each in fields.read(part, found).found if each.route not in known)


def _placed(route: Route, back: Mapping[Route, Route]) -> Route:
    inner = route[1:]
    cut = next((n for n in range(len(inner), 0, -1) if inner[:n] in back), 0)
    return (*back[inner[:cut]], *inner[cut:]) if cut else route


def _backend(part: Part, found: Sections) -> tuple[str, str]:
    """Namespace and scheduler of the pool's cluster, as far as the file has them."""
    backend = found.section("backends").data.get(part.data.get("backend")) or {}
    settings = backend.get("scheduler_settings") or {}
    return backend.get("k8s_namespace") or "", settings.get("scheduler_name") or ""
