"""A platform and a task -> resources, GPUs and a pod template, or all reasons why OSMO would refuse the task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    OWN_NAMES,
    ClusterTopology,
    Diagnostic,
    NodeShape,
    Outcome,
    Route,
    error,
    has_errors,
    info,
    listing,
    shorten,
    warning,
)
from bayplan.plugins.osmo.pool import library, rendering, requests
from bayplan.plugins.osmo.pool.reading import platform as platform_of
from bayplan.plugins.osmo.pool.rendering import Job, Render, Rendered, Value, render_all
from bayplan.plugins.osmo.pool.requests import Finding
from bayplan.plugins.osmo.pool.values import Platform, PoolConfig, Share, TaskRequest, merge_templates
from bayplan.plugins.osmo.tokens import texts
from bayplan.plugins.osmo.units import k8s_name

# The parts of a task's pod template -> their places in the pool's templates.

Fill = Callable[[Any], Any]
"""A part of a template -> the same part, rendered."""

CONTAINERS: Route = ("spec", "containers")


def origins(template: Any, sources: Sequence[tuple[Any, Route]], container: str, fill: Fill) -> dict[Route, Route]:
    """Routes in a task's pod template -> routes in the pool configuration.

    `sources` are the merged templates, each with its place. If several set a value, the last one counts. A step into a
    list is the name of the entry, which is empty for the user's container, or the entry's number if the name is missing
    or not unique.
    """
    places: dict[Route, Route] = {}
    for data, place in sources:
        places.update(_traced(template, data, (), place, fill))
    own = (*CONTAINERS, container)
    return {(*CONTAINERS, "", *at[3:]) if at[:3] == own else at: place for at, place in places.items()}


def _traced(merged: Any, raw: Any, route: Route, place: Route, fill: Fill) -> Iterator[tuple[Route, Route]]:
    """The places of a value and of all values in it that both the template and its source have."""
    yield route, place
    if isinstance(merged, Mapping) and isinstance(raw, Mapping):
        for key in raw:
            if key in merged:
                yield from _traced(merged[key], raw[key], (*route, key), (*place, key), fill)
    elif isinstance(merged, list) and isinstance(raw, list):
        steps = _steps(merged)
        for number, each in enumerate(raw):
            for index in _same(merged, each, fill):
                yield from _traced(merged[index], each, (*route, steps[index]), (*place, number), fill)


def _same(entries: list[Any], raw: Any, fill: Fill) -> list[int]:
    """The entry with the name of `raw`. If it has no such entry, or several, the equal entries."""
    name = name_of({"name": fill(raw["name"])}) if name_of(raw) else ""
    alike = [index for index, entry in enumerate(entries) if name and name_of(entry) == name]
    if len(alike) == 1:
        return alike
    whole = fill(raw)
    return [index for index, entry in enumerate(entries) if entry == whole] or alike


def _steps(entries: list[Any]) -> list[str | int]:
    names = [name_of(each) for each in entries]
    return [name if name and names.count(name) == 1 else index for index, name in enumerate(names)]


def name_of(entry: Any) -> str:
    """The name of an entry of a list, or an empty string."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) else ""


# Names in pod templates that collide with names in bayplan's pods.

OURS: Mapping[str, tuple[str, ...]] = {**OWN_NAMES, "volumes": ("files",)}
"""List of a pod -> bayplan's names in it. Pods of OSMO workflows have no volume `shm` of bayplan."""

USES: Mapping[str, str] = {
    "volumes": "volumes",
    "volumeMounts": "volumes",
    "volumeDevices": "volumes",
    "resourceClaims": "resourceClaims",
    "claims": "resourceClaims",
}
"""List -> the list that its names refer to."""

PREFIX = "pool-"

Names = Mapping[tuple[str, str], str]
"""List and old name -> new name."""


def renamed(template: Mapping[str, Any], places: Mapping[Route, Route]) -> tuple[Mapping[str, Any], dict[Route, Route]]:
    """The template and its places, with new names for volumes and claims that have a name of bayplan's."""
    spec = template.get("spec") or {}
    names = {(key, name): _free(name, taken) for key, taken in _taken(spec).items() for name in OURS[key]}
    if not any(name in taken for key, taken in _taken(spec).items() for name in OURS[key]):
        return template, dict(places)
    result = {**template, "spec": _renamed(spec, names)}
    return result, {_route(route, names): place for route, place in places.items()}


def _taken(spec: Mapping[str, Any]) -> dict[str, set[str]]:
    return {key: {str(each.get("name")) for each in spec.get(key) or ()} for key in OURS}


def _free(name: str, taken: set[str]) -> str:
    while (name := PREFIX + name) in taken:
        pass
    return name


def _renamed(value: Any, names: Names, key: str = "") -> Any:
    """The value with new names. `key`: the field of the value."""
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


ARRAY = re.compile(r"ARRAY:\[(.*)\]", re.DOTALL)
"""A string that OSMO converts to a list (src/utils/job/task.py, substitute_pod_template_tokens)."""

PER_GROUP = ("WF_GROUP_UUID", "WF_GROUP_NAME", "WF_UUID", "WF_ID", "WF_TASK_UUID", "WF_TASK_NAME")
"""Variables in the name of a claim template that exists for one workflow, group or task."""

NOTHING = object()
"""The result of a string without a value."""


class PreparedTask(NamedTuple):
    """One task on its platform, and the strings to render for it: of rules, channel names and the template."""

    ask: TaskRequest
    platform: Platform
    tokens: Mapping[str, Value]
    case: requests.RuleCase
    rules: tuple[Job, ...]
    channels: tuple[Job, ...]
    template: tuple[Job, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All strings to render."""
        return (*self.rules, *self.channels, *self.template)


def shares(
    config: PoolConfig,
    asks: Sequence[TaskRequest],
    topology: ClusterTopology | None = None,
    render: Render | None = None,
) -> Outcome[tuple[Share, ...]]:
    """The shares of the tasks, whose strings are rendered together. W423, W456, W481, W491, W495.

    Rules about nodes apply to the nodes of the topology that a platform may select. Without a topology, bayplan skips
    them. `render` renders the strings that need Jinja; without it they are errors.
    """
    prepared = [_prepare(config, ask, topology) for ask in asks]
    reports: list[Finding] = [each for outcome in prepared for each in outcome.diagnostics]
    works = [outcome.value for outcome in prepared if outcome.value is not None]
    rendered = iter(render_all([job for work in works for job in work.jobs], render))
    results: list[Share] = []
    for work in works:
        groups = (work.rules, work.channels, work.template)
        share, findings = _complete(work, *([next(rendered) for _ in jobs] for jobs in groups))
        reports.extend(findings)
        results.extend([share] if share else [])
    reported = tuple(requests.merge_violations(reports))
    return Outcome(None if has_errors(reported) or len(results) < len(asks) else tuple(results), reported)


def _prepare(config: PoolConfig, ask: TaskRequest, topology: ClusterTopology | None) -> Outcome[PreparedTask]:
    own = platform_of(config, ask.platform, ask.places.get("platform", ask.route))
    if own.value is None:
        return Outcome(None, own.diagnostics)
    platform = own.value
    findings = tuple(requests.rights(platform, ask))
    tokens = rendering.of_task(config, platform, ask)
    if tokens.value is None:
        return Outcome(None, (*findings, *tokens.diagnostics))
    case = requests.case(platform, ask, tokens.value, _nodes(platform, topology))
    rules = tuple(requests.jobs(case))
    channels = tuple(Job(name, rendering.of_group(config, ask)) for name in library.channels(config))
    template = tuple(Job(text, tokens.value) for text, _ in texts(dict(platform.pod_template), ()))
    return Outcome(PreparedTask(ask, platform, tokens.value, case, rules, channels, template), findings)


def _nodes(platform: Platform, topology: ClusterTopology | None) -> list[NodeShape]:
    """The nodes that the platform may select: the pool of its name, or the pools with its labels, or all pools."""
    pools = topology.pools if topology else ()
    named = [pool.node for pool in pools if pool.name == k8s_name(platform.name)]
    wanted = selector(platform).items()
    alike = [pool.node for pool in pools if wanted and wanted <= dict(pool.node.node_selector).items()]
    return named or alike or [pool.node for pool in pools]


def selector(platform: Platform) -> dict[str, str]:
    """The node labels that a platform selects for every task."""
    labels = (platform.pod_template.get("spec") or {}).get("nodeSelector") or {}
    return {key: str(value) for key, value in labels.items() if "{{" not in str(value) and "{%" not in str(value)}


def _complete(
    work: PreparedTask, rules: Sequence[Rendered], channel_names: Sequence[Rendered], template: Sequence[Rendered]
) -> tuple[Share | None, list[Finding]]:
    """The share of a task from its rendered strings, and all findings."""
    findings: list[Finding] = [*requests.judge(work.case, rules)]
    broken = [*_unrenderable(work, template)]
    if broken:
        return None, [*findings, *broken]
    platform, container = work.platform, str(work.tokens["USER_CONTAINER_NAME"])
    texts_made = {job.text: each for job, each in zip(work.template, template, strict=True)}

    def fill(value: Any) -> Any:
        return _filled(value, texts_made)

    filled = _pod(fill(dict(platform.pod_template)), container)
    channels = {each.text for each in channel_names}
    orphans = {*_orphans(work, filled, channels)}
    parts = requests.cut(filled, container, channels | orphans)
    findings += [*_empty(work, template), *_template_findings(work, parts, bool(channels), orphans)]
    renamed_template, places = renamed(parts.template, origins(parts.template, platform.sources, container, fill))
    share = Share(
        resources=parts.resources,
        accelerators=parts.accelerators,
        template=renamed_template,
        mounts=requests.own_mounts(platform, work.ask),
        origins={
            **{("template", *route): place for route, place in places.items()},
            **_amount_origins(origins(_only_resources(filled, container), platform.sources, container, fill)),
        },
    )
    return share, findings


def _only_resources(filled: Mapping[str, Any], container: str) -> dict[str, Any]:
    """Only the resources of the user's container."""
    own = [each for each in filled["spec"]["containers"] if each.get("name") == container]
    return {"spec": {"containers": [{key: each[key] for key in ("name", "resources") if key in each} for each in own]}}


def _amount_origins(places: Mapping[Route, Route]) -> dict[Route, Route]:
    """The places of the resources of the user's container, by field of the podSet."""
    result: dict[Route, Route] = {}
    for key in ("requests", "limits"):
        above: Route = (*CONTAINERS, "", "resources", key)
        for route, place in places.items():
            if route[:-1] == above:
                result[("accelerator",) if route[-1] == requests.GPU else ("resources", route[-1])] = place
    return result


def _filled(value: Any, texts_made: Mapping[str, Rendered]) -> Any:
    """The value with its strings rendered, without nulls and strings without a value."""
    if isinstance(value, str):
        rendered = texts_made.get(value) or Rendered(value)  # a string that another template overrides
        array = ARRAY.fullmatch(rendered.text)
        if rendered.lost:
            return NOTHING
        return array[1].split(",") if array else rendered.text
    if isinstance(value, Mapping):
        pairs = [(key, _filled(each, texts_made)) for key, each in value.items()]
        return {key: each for key, each in pairs if each is not NOTHING and each is not None}
    if isinstance(value, list):
        entries = [_filled(each, texts_made) for each in value]
        return [each for each in entries if each is not NOTHING and each is not None]
    return value


def _pod(template: Mapping[str, Any], container: str) -> dict[str, Any]:
    """The template, merged over the containers of OSMO's pod. Two entries for one container become one."""
    names = (container, requests.CONTROL)
    return merge_templates({"spec": {"containers": [{"name": name} for name in names]}}, template, [])


def _unrenderable(work: PreparedTask, rendered: Sequence[Rendered]) -> Iterator[Diagnostic]:
    for job, result in zip(work.template, rendered, strict=True):
        if result.fault:
            message = f'bayplan cannot render "{shorten(job.text)}" of the pod template: {result.fault}'
            yield error("R127", where(work.platform, job.text), message, hint=result.hint or "correct the template")


def _empty(work: PreparedTask, rendered: Sequence[Rendered]) -> Iterator[Diagnostic]:
    """R126, except for GPUs: without a number of GPUs, the task has none."""
    for job, result in zip(work.template, rendered, strict=True):
        for name in result.empty if result.lost else ():
            if name != "USER_GPU":
                message = f'the variable "{name}" has no value, so bayplan drops this field of the pod template'
                hint = "set a default in common_default_variables, or request it in the workflow"
                if name in rendering.UNKNOWN:
                    hint = "write a fixed value if the pods need one: only a running OSMO knows the variable"
                yield warning("R126", where(work.platform, job.text), message, hint=hint)


def _orphans(work: PreparedTask, filled: Mapping[str, Any], channels: set[str]) -> Iterator[str]:
    """Claim templates for each workflow, group or task that no group template of the pool makes."""
    raw = (work.platform.pod_template.get("spec") or {}).get("resourceClaims") or ()
    own = {str(work.tokens[name]) for name in PER_GROUP if any(name in str(each) for each in raw)}
    for claim in (filled.get("spec") or {}).get("resourceClaims") or ():
        name = str(claim.get("resourceClaimTemplateName", ""))
        if name not in channels and any(each in name for each in own):
            yield name


def _template_findings(
    work: PreparedTask, parts: requests.TemplateParts, domains: bool, orphans: set[str]
) -> Iterator[Diagnostic]:
    platform = work.platform
    for name, fault in parts.faults:
        route = where(platform, name)
        message = f'the pod template requests "{name}", but {fault}'
        yield error("W495", route, message, hint="write an amount such as 4, 500m or 64Gi")
    for path in parts.control:
        message = (
            f'bayplan drops "{".".join(path[1:])}" of the pod template, which configures OSMO\'s own parts of a pod'
        )
        yield info("W491", where(platform, *path), message, hint="no action needed: bayplan's pods have no such parts")
    for path in parts.left_out:
        message = f'bayplan drops "{".".join(path)}" of the pod template, since bayplan or the task sets it'
        yield warning("W491", where(platform, *path), message, hint="remove it from the pod template")
    for name in parts.imageless:
        message = f'bayplan drops the container "{name}" of the pod template, which has no image'
        hint = "add an image, or name it {{USER_CONTAINER_NAME}} if you mean the container of the task"
        yield warning("W491", where(platform, "spec", "containers", name), message, hint=hint)
    if parts.claims:
        yield _claimed(platform, parts.claims, domains, orphans)
    if parts.unequal:
        message = f"the pod template has different requests and limits for {listing(parts.unequal, 'and')}"
        hint = "no action needed: bayplan keeps both, and the proof counts the requests, as Kubernetes does"
        yield info("W491", where(platform, "requests"), message, hint=hint)


def _claimed(platform: Platform, claims: tuple[str, ...], domains: bool, orphans: set[str]) -> Diagnostic:
    route = where(platform, "spec", "resourceClaims")
    if orphans:
        message = (
            f"no group template makes the object of claim {listing(sorted(claims), 'and')}; bayplan drops the claim"
        )
        hint = "add the group template or remove the claim: pods wait forever in OSMO, but not with bayplan"
        return warning("W456", route, message, hint=hint)
    message = f"bayplan drops the claim {listing(claims, 'and')} on a ComputeDomain's channel and makes its own"
    hint = "no action needed: gangs that need NVLink between nodes get a ComputeDomain"
    return info("W456", route, message, hint=hint)


def where(platform: Platform, *steps: str) -> Route:
    """The place of a path of keys and names, or of a string, in the last merged template that has it."""
    for data, route in reversed(platform.sources):
        place = _path(data, steps, route) or _text(data, steps[-1], route)
        if place:
            return place
    return platform.route


def _path(data: Any, steps: Sequence[str], route: Route) -> Route:
    for step in steps:
        if isinstance(data, list):
            named = [n for n, each in enumerate(data) if isinstance(each, Mapping) and each.get("name") == step]
            if not named:
                return ()
            data, route = data[named[0]], (*route, named[0])
        elif isinstance(data, Mapping) and step in data:
            data, route = data[step], (*route, step)
        else:
            return ()
    return route


def _text(data: Any, text: str, route: Route) -> Route:
    """The first place with this string as key or value."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        here: Route = (*route, key)
        place = here if text in (key, value) else _text(value, text, here)
        if place:
            return place
    return ()
