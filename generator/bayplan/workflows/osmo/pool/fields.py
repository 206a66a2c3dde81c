"""Fields of a pool itself: what stands in it alone, whatever its platforms and templates are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import KEY, Diagnostic, Route, error, has_errors, warning
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean, suggest
from bayplan.workflows.osmo.pool import keys
from bayplan.workflows.osmo.pool.built_in import BUILT_IN
from bayplan.workflows.osmo.pool.merging import helm
from bayplan.workflows.osmo.pool.quota import UNLIMITED
from bayplan.workflows.osmo.pool.shapes import SECTIONS, Part, Sections
from bayplan.workflows.osmo.pool.values import Key
from bayplan.workflows.osmo.rules import exit_codes
from bayplan.workflows.osmo.units import seconds

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

ALONE = (*TIMEOUTS, "default_exit_actions", "resources", "description", "name")
"""Fields without which the rest of a pool means the same."""


class Fields(NamedTuple):
    """What the fields say; what is wrong stands in `found`, and says nothing. As in `values.PoolConfig`."""

    keys: tuple[Key, ...]
    default_platform: str
    timeouts: Mapping[str, int | None]
    exit_actions: Mapping[str, str]
    guarantee: int
    places: Mapping[str, Route]
    found: tuple[Diagnostic, ...]


def read(part: Part, sections: Sections) -> Fields:
    """The fields of a pool: W474, W476, W477, W493, and W419 to W422 of its exit actions."""
    levels, wrong = keys.read(part.data, part.route)
    actions, faults = _exit_actions(part)
    owners = _owners(part, sections)
    return Fields(
        keys=levels,
        default_platform=part.data.get("default_platform") or "",
        timeouts={key: seconds(text) if text else None for key, (text, _, _) in owners.items()},
        exit_actions=actions,
        guarantee=_guarantee(part),
        places={**{key: place for key, (_, place, own) in owners.items() if own}, **_places(part)},
        found=(*_ignored(part), *wrong, *_default_platform(part), *faults, *_durations(owners)),
    )


def alone(found: Diagnostic, pool: Route) -> bool:
    """Whether a finding is about a field without which the rest of the pool means the same."""
    length = len(pool)
    within = found.route[:length] == pool and found.route[length : length + 1] and found.route[length] in ALONE
    return bool(within) or found.code == "W493"


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


def _exit_actions(part: Part) -> tuple[dict[str, str], tuple[Diagnostic, ...]]:
    """In the order of the file. OSMO reads them only when a task ends, and fails on those that are wrong."""
    given = {action: str(codes) for action, codes in (part.data.get("default_exit_actions") or {}).items()}
    route: Route = (*part.route, "default_exit_actions")
    found = (*exit_codes.forms(given, route), *exit_codes.overlaps(given, route))
    return {} if has_errors(found) else given, found


def _guarantee(part: Part) -> int:
    given = ((part.data.get("resources") or {}).get("gpu") or {}).get("guarantee")
    return UNLIMITED if given is None else int(given)


def _places(part: Part) -> dict[str, Route]:
    return {
        "default_platform": (*part.route, "default_platform"),
        "guarantee": (*part.route, "resources", "gpu", "guarantee"),
    }


def _owners(part: Part, sections: Sections) -> dict[str, tuple[Any, Route, bool]]:
    """Timeout -> the pool's, else that of the file's workflow section, where it stands, and whether the file has it."""
    section = sections.section("workflow")
    own = section.data
    whole = helm(BUILT_IN["workflow"], own) if sections.helm else own
    of_pool = {key: (part.data[key], (*part.route, key), True) for key in TIMEOUTS if part.data.get(key)}
    return {key: of_pool.get(key, (whole.get(key), (*section.route, key), key in own)) for key in TIMEOUTS}


def _durations(owners: Mapping[str, tuple[Any, Route, bool]]) -> Iterator[Diagnostic]:
    """W493."""
    for text, route, _ in owners.values():
        if text and seconds(text) is None:
            hint = "write a whole number and one of d, h, m, s: `12h`"
            yield error("W493", route, f'"{text}" is no duration', hint=hint)
