"""A file -> the configuration of one pool, or all of its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    HOSTNAME_LABEL,
    KEY,
    Diagnostic,
    Document,
    Note,
    Outcome,
    Route,
    count,
    did_you_mean,
    error,
    has_errors,
    schemas,
    suggest,
    warning,
)
from bayplan.plugins.osmo import task_rules
from bayplan.plugins.osmo.pool import library as templates
from bayplan.plugins.osmo.pool import values
from bayplan.plugins.osmo.pool.library import Library, chart, names
from bayplan.plugins.osmo.pool.values import (
    SECTIONS,
    SUBJECT,
    Key,
    Part,
    Path,
    Platform,
    PoolConfig,
    Rule,
    Sections,
    merge_helm_values,
    merge_templates,
)
from bayplan.plugins.osmo.units import seconds

# Topology keys, by KAI's rules for the Topology that OSMO creates from them.

MOST = 16
"""The most levels of KAI's Topology (KAI deployments/kai-scheduler/crds/kai.scheduler_topologies.yaml)."""


def read_keys(pool: Any, route: Route) -> tuple[tuple[Key, ...], tuple[Diagnostic, ...]]:
    """The keys in order; W418 for keys that KAI or a workflow cannot use."""
    listed = pool.get("topology_keys") or ()
    at: Route = (*route, "topology_keys")
    keys = tuple(Key(each["key"], each["label"], (*at, index)) for index, each in enumerate(listed))
    return keys, tuple(_key_findings(keys, at))


def _key_findings(keys: tuple[Key, ...], at: Route) -> Iterator[Diagnostic]:
    fields = ("key", "label")
    for key, field in ((key, field) for key in keys for field in fields if not getattr(key, field).strip()):
        message = f"the topology key has an empty {field}"
        yield error("W418", (*key.route, field), message, hint=f"set a {field}, or remove the key")
    for field in fields:
        first: dict[str, Key] = {}
        for key in keys:
            value = getattr(key, field)
            other = first.setdefault(value, key)
            if other is not key and value.strip():
                consequence = "KAI refuses the Topology" if field == "label" else "OSMO uses the last"
                message = f'two topology keys have the {field} "{value}"; {consequence}'
                notes = (Note("the first is here", (*other.route, field)),)
                yield error("W418", (*key.route, field), message, hint="remove one of the two", notes=notes)
    for key in keys[:-1]:
        if key.label == HOSTNAME_LABEL:
            message = f'"{HOSTNAME_LABEL}" is not the last topology key; KAI accepts it only as the last'
            yield error("W418", (*key.route, "label"), message, hint="move this key to the end")
    if len(keys) > MOST:
        message = f"the pool has {len(keys)} topology keys; KAI's Topology has at most {MOST} levels"
        yield error("W418", at, message, hint="remove keys that no workflow needs")


# The GPUs that a pool guarantees to workflows that OSMO does not preempt.

UNLIMITED = -1


def quota(config: PoolConfig, group: str, gpus: int, route: Route) -> Iterator[Diagnostic]:
    """W483 if a task group requests more GPUs than the pool guarantees.

    OSMO refuses such a workflow, unless its priority is LOW (src/service/core/workflow/objects.py,
    validate_workflow_spec). The file does not set the priority, so this is only a warning.
    """
    if config.guarantee == UNLIMITED or gpus <= config.guarantee:
        return
    message = (
        f'task group "{group}" requests {count(gpus, "GPU")}, but pool "{config.name}" guarantees {config.guarantee}'
    )
    hint = "request fewer, or submit it to OSMO with priority LOW, which allows preemption"
    notes = (Note("the guarantee is here", config.places.get("guarantee", config.route)),)
    yield warning("W483", route, message, hint=hint, notes=notes)


# Fields of a pool that do not depend on its platforms or templates.

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
"""Keys that OSMO reads or writes. It ignores all others (src/utils/connectors/postgres.py, `extra='ignore'`)."""

TIMEOUTS = ("default_exec_timeout", "max_exec_timeout", "default_queue_timeout", "max_queue_timeout")

INDEPENDENT_FIELDS = (*TIMEOUTS, "default_exit_actions", "resources", "description", "name")
"""Fields that the other fields of a pool do not depend on."""


class Fields(NamedTuple):
    """The values of the fields, as in `values.PoolConfig`. Wrong fields are empty, with a finding in `findings`."""

    keys: tuple[Key, ...]
    default_platform: str
    timeouts: Mapping[str, int | None]
    exit_actions: Mapping[str, str]
    guarantee: int
    places: Mapping[str, Route]
    findings: tuple[Diagnostic, ...]


def read_fields(part: Part, sections: Sections) -> Fields:
    """The fields of a pool. W413 and W421 for durations and exit actions, W446, W418, W408."""
    levels, wrong = read_keys(part.data, part.route)
    actions, faults = _exit_actions(part)
    owners = _owners(part, sections)
    guarantee = ((part.data.get("resources") or {}).get("gpu") or {}).get("guarantee")
    places: dict[str, Route] = {
        "default_platform": (*part.route, "default_platform"),
        "guarantee": (*part.route, "resources", "gpu", "guarantee"),
    }
    findings = [*_ignored(part), *wrong]  # W446, W418
    name, platforms = part.data.get("default_platform"), part.data.get("platforms") or {}
    if name and name not in platforms:
        message = f'`default_platform` names an unknown platform: "{name}"'
        hint = suggest(name, platforms, "platforms") or "add it to `platforms`"
        findings.append(error("W408", places["default_platform"], message, hint=hint))
    findings += faults
    for text, route, _ in owners.values():
        if text and seconds(text) is None:
            hint = "write an integer with d, h, m or s, such as `12h`"
            findings.append(error("W413", route, f'"{text}" is not a duration', hint=hint))
    return Fields(
        keys=levels,
        default_platform=part.data.get("default_platform") or "",
        timeouts={key: seconds(text) if text else None for key, (text, _, _) in owners.items()},
        exit_actions=actions,
        guarantee=UNLIMITED if guarantee is None else int(guarantee),
        places={**{key: place for key, (_, place, own) in owners.items() if own}, **places},
        findings=tuple(findings),
    )


def is_independent(finding: Diagnostic, pool: Route) -> bool:
    """Whether a finding is about a field that the other fields of the pool do not depend on."""
    length = len(pool)
    field = finding.route[length : length + 1] if finding.route[:length] == pool else ()
    return any(each in INDEPENDENT_FIELDS for each in field) or finding.code == "W413"


def _ignored(part: Part) -> Iterator[Diagnostic]:
    """W446."""
    below = (part.data.get("platforms") or {}).items()
    owners = [("pool", part), *(("platform", Part(each, (*part.route, "platforms", name))) for name, each in below)]
    sections = {key for names in SECTIONS.values() for key in names}
    for what, (data, route) in owners:
        for key in data or {}:
            if key not in KNOWN[what] and not (what == "pool" and key in sections):
                message = f'OSMO ignores the unknown key "{key}" of a {what}'
                owner = next((other for other, keys in KNOWN.items() if other != what and key in keys), "")
                elsewhere = f"move it: it is a key of a {owner}" if owner else "remove it"
                hint = did_you_mean(key, KNOWN[what]) or elsewhere
                yield warning("W446", (*route, key, KEY), message, hint=hint)


def _exit_actions(part: Part) -> tuple[dict[str, str], tuple[Diagnostic, ...]]:
    """The pool's exit actions in the order of the file. OSMO reads them only when a task ends, and then fails on wrong
    ones."""
    actions = {action: str(codes) for action, codes in (part.data.get("default_exit_actions") or {}).items()}
    route: Route = (*part.route, "default_exit_actions")
    findings = tuple(task_rules.exit_action_findings(actions, route))
    return {} if has_errors(findings) else actions, (*findings, *task_rules.reschedule_findings([(actions, route)]))


def _owners(part: Part, sections: Sections) -> dict[str, tuple[Any, Route, bool]]:
    """Timeout -> the pool's value, or that of the file's workflow section, its place, and whether the file has it."""
    section = sections.section("workflow")
    own = section.data
    whole = merge_helm_values(chart()["workflow"], own) if sections.helm else own
    of_pool = {key: (part.data[key], (*part.route, key), True) for key in TIMEOUTS if part.data.get(key)}
    return {key: of_pool.get(key, (whole.get(key), (*section.route, key), key in own)) for key in TIMEOUTS}


# Platforms, merged with the parts that they share with their pool.

CONTROL = "osmo-ctrl"
"""OSMO's own container beside the user's."""


def read_platforms(pool: Part, library: Library) -> dict[str, Platform]:
    """The pool's platforms by name (postgres.py, Pool.calculate_pod_template and its neighbours). W408, W481, W495."""
    common = _templates(pool, "common_pod_template", library)
    shared = templates.read_rules(pool, "common_resource_validations", library)
    listed = pool.data.get("platforms") or {}
    parts = {name: Part(data or {}, (*pool.route, "platforms", name)) for name, data in listed.items()}
    return {name: _platform(name, part, pool, common, shared, library) for name, part in parts.items()}


def _platform(
    name: str, part: Part, pool: Part, common: Sequence[Part], shared: tuple[Rule, ...], library: Library
) -> Platform:
    data = part.data
    whole = _parsed(part, library)
    sources = whole or [*common, *_templates(part, "override_pod_template", library)]
    template = _merged(sources, library)
    if not template:  # labels and tolerations that OSMO derived from a template that the file does not have
        derived = {"nodeSelector": data.get("labels"), "tolerations": data.get("tolerations")}
        template = {"spec": {key: value for key, value in derived.items() if value}} if any(derived.values()) else {}
    own = templates.read_rules(part, "resource_validations", library)
    rules_in_file = library.has("resource_validations") or not data.get("parsed_resource_validations")
    return Platform(
        name=name,
        privileged_allowed=bool(data.get("privileged_allowed")),
        host_network_allowed=bool(data.get("host_network_allowed")),
        allowed_mounts=tuple(data.get("allowed_mounts") or ()),
        default_mounts=tuple(_mounts(template)) or tuple(data.get("default_mounts") or ()),
        variables={**(pool.data.get("common_default_variables") or {}), **(data.get("default_variables") or {})},
        rules=(*shared, *own) if rules_in_file else own,
        pod_template=template,
        route=part.route,
        sources=tuple((each.data, each.route) for each in sources),
    )


def _templates(owner: Part, key: str, library: Library) -> list[Part]:
    """The pod templates that an owner names. A file without any has the result of OSMO's merge."""
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
    merged: dict[str, Any] = {}
    for data, route in sources:
        clashes: list[Path] = []
        merged = merge_templates(merged, data or {}, clashes)
        for path in clashes:
            message = f'"{".".join(map(str, path))}" is a mapping here, but not in the template that this one overrides'
            hint = "write the same type in both templates"
            library.findings.append(error("W495", _known(data, route, path), message, hint=hint))
    return merged


def _known(data: Any, route: Route, path: Path) -> Route:
    """The route of the path's steps that the data has. Merged lists have other positions than their sources."""
    for step in path:
        if not (isinstance(data, Mapping) and step in data):
            break
        data, route = data[step], (*route, step)
    return route


def _mounts(template: Mapping[str, Any]) -> Iterator[str]:
    """The mount paths of the template in containers of the user (postgres.py, Pool.get_default_mounts)."""
    for container in (template.get("spec") or {}).get("containers") or ():
        if container.get("name") != CONTROL:
            for mount in container.get("volumeMounts") or ():
                if isinstance(mount.get("mountPath"), str):
                    yield mount["mountPath"]


KIND = "OsmoPool"


def read(document: Document, name: str = "") -> Outcome[PoolConfig]:
    """The pool of that name in a file, or its only pool. W413, W421, W471 to W495.

    The outcome may have both a pool and errors: callers use the pool only to find more errors.
    """
    sections = values.sections(document.data)
    chosen = values.select(sections.value, name) if sections.value else None
    if sections.value is None or chosen is None or chosen.value is None:
        return Outcome(None, chosen.diagnostics if chosen else sections.diagnostics)
    config = pool(sections.value, *chosen.value)
    return Outcome(config.value, (*chosen.diagnostics, *config.diagnostics))


def read_all(document: Document) -> tuple[tuple[PoolConfig, ...], tuple[Diagnostic, ...]]:
    """Every valid pool of a file, and the findings about all pools."""
    sections = values.sections(document.data)
    if sections.value is None:
        return (), sections.diagnostics
    configs = [pool(sections.value, name, part) for name, part in sections.value.pools.items()]
    reported = tuple(dict.fromkeys(each for config in configs for each in config.diagnostics))
    return tuple(config.value for config in configs if config.value is not None), reported


def pool(sections: Sections, name: str, part: Part) -> Outcome[PoolConfig]:
    """One pool of a file, without its wrong fields. None if the other fields depend on a wrong one."""
    refused = _refused(sections, name, part)
    part = _without(part, refused)
    if not all(is_independent(each, part.route) for each in refused):
        return Outcome(None, (*refused, *_other_findings(sections, name, part)))
    library = Library(sections, [*refused], {})
    part = library.completed("pools", name, part)
    own = read_fields(part, sections)
    library.findings.extend(own.findings)
    backend = sections.section("backends").data.get(part.data.get("backend")) or {}
    scheduler = (backend.get("scheduler_settings") or {}).get("scheduler_name") or ""
    config = PoolConfig(
        name=name,
        keys=own.keys,
        default_platform=own.default_platform,
        platforms=read_platforms(part, library),
        group_templates=templates.read_groups(part, library),
        default_exit_actions=own.exit_actions,
        guarantee=own.guarantee,
        namespace=backend.get("k8s_namespace") or "",
        scheduler=scheduler,
        route=part.route,
        places=own.places,
        **own.timeouts,
    )
    reported = library.diagnostics()
    fatal = has_errors([each for each in reported if not is_independent(each, part.route)])
    return Outcome(None if fatal else config, reported)


def platform(config: PoolConfig, name: str, route: Route) -> Outcome[Platform]:
    """The platform of that name, or the pool's default one. W408 if it does not exist."""
    wanted = name or config.default_platform
    if wanted in config.platforms:
        return Outcome(config.platforms[wanted])
    message = f'the pool "{config.name}" has no platform "{wanted}"'
    hint = suggest(wanted, config.platforms, "platforms")
    if not wanted:
        message = f'the resource names no platform, and pool "{config.name}" has no default one'
        hint = f"add `platform` to the resource; {suggest('', config.platforms, 'platforms')}".rstrip("; ")
    return Outcome(None, (error("W408", route, message, hint=hint),))


def _refused(sections: Sections, name: str, part: Part) -> tuple[Diagnostic, ...]:
    """The errors of the schema, at their places in the file."""
    others = {section: each for section, each in sections.others.items() if section in SECTIONS}
    data = {"pools": {name: part.data}, **{section: each.data for section, each in others.items()}}
    back: dict[Route, Route] = {("pools", name): part.route, **{(s,): each.route for s, each in others.items()}}
    reported = schemas.validate(KIND, data, SUBJECT)
    return tuple(each._replace(route=_placed(each.route, back)) for each in reported)


def _without(part: Part, refused: Iterable[Diagnostic]) -> Part:
    """The pool without the fields that its schema refused. Without `platforms` it has no `default_platform`."""
    length = len(part.route)
    keys = {each.route[length] for each in refused if each.route[:length] == part.route and len(each.route) > length}
    keys |= {"default_platform"} if "platforms" in keys else set()
    return Part({key: value for key, value in part.data.items() if key not in keys}, part.route)


def _other_findings(sections: Sections, name: str, part: Part) -> tuple[Diagnostic, ...]:
    """Findings about the fields that the schema did not refuse."""
    left = _refused(sections, name, part)
    if any(each.route[: len(part.route)] == part.route for each in left):
        return ()
    refused_routes = {each.route for each in left}
    return tuple(each for each in read_fields(part, sections).findings if each.route not in refused_routes)


def _placed(route: Route, back: Mapping[Route, Route]) -> Route:
    inner = route[1:]
    cut = next((n for n in range(len(inner), 0, -1) if inner[:n] in back), 0)
    return (*back[inner[:cut]], *inner[cut:]) if cut else route
