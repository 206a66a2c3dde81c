"""An OSMO pool configuration, merged with the other sections of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import Diagnostic, Outcome, Route, did_you_mean, error, listing, warning

SUBJECT = "osmo-pool"
"""The first element of the routes into a pool configuration, and its key in `Context.beside`."""


class Key(NamedTuple):
    """A topology key: the name of a level in workflows, and its node label. A pool lists them coarse to fine."""

    key: str
    label: str
    route: Route = ()


class Rule(NamedTuple):
    """One resource validation: `left operator right`, both Jinja strings. `message`: the text if it fails."""

    operator: str  # GT | GE | LT | LE | EQ
    left: str
    right: str
    message: str
    route: Route = ()


class Platform(NamedTuple):
    """One platform, merged with the pool's common parts. Rendering of its fields comes later."""

    name: str
    privileged_allowed: bool = False
    host_network_allowed: bool = False
    allowed_mounts: tuple[str, ...] = ()
    default_mounts: tuple[str, ...] = ()
    variables: Mapping[str, Any] = {}
    rules: tuple[Rule, ...] = ()
    pod_template: Mapping[str, Any] = {}
    route: Route = ()
    sources: tuple[tuple[Any, Route], ...] = ()  # the merged templates, in order, and their places


class GroupTemplate(NamedTuple):
    """An object that OSMO makes for every task group. It merges templates of the same kind and name."""

    name: str
    kind: str
    api_version: str
    data: Mapping[str, Any]
    route: Route = ()


class PoolConfig(NamedTuple):
    """One pool. Timeouts are in seconds; None: the file does not set it, and the service decides.

    `places`: the place in the file, by field (the timeouts, `default_platform`, `guarantee`).
    """

    name: str
    keys: tuple[Key, ...] = ()
    default_platform: str = ""
    platforms: Mapping[str, Platform] = {}
    group_templates: tuple[GroupTemplate, ...] = ()
    default_exec_timeout: float | None = None
    max_exec_timeout: float | None = None
    default_queue_timeout: float | None = None
    max_queue_timeout: float | None = None
    default_exit_actions: Mapping[str, str] = {}  # action -> codes, in file order, applied after the task's own
    guarantee: int = -1  # GPUs for workflows that OSMO does not preempt; -1: any number
    namespace: str = ""  # of its backend
    scheduler: str = ""  # the scheduler's name in pods
    route: Route = (SUBJECT,)
    places: Mapping[str, Route] = {}


class TaskRequest(NamedTuple):
    """What one task requests of its platform. Amounts are those of the workflow, empty or None if it sets none.

    `places` has the place in the workflow, by field (`platform`, `cpu`, `gpu`, `memory`, `storage`, `cache`,
    `privileged`, `host_network`); other findings are at `route`. `mount_places` belong to `mounts`.
    """

    route: Route
    task: str
    container: str  # the name of the user's container in what bayplan writes
    group: str
    workflow: str
    platform: str = ""  # empty: the pool's default
    cpu: int | None = None
    gpu: int | None = None
    memory: str = ""
    storage: str = ""
    cache: str = ""
    excluded: tuple[str, ...] = ()
    lead: bool = False
    privileged: bool = False
    host_network: bool = False
    mounts: tuple[str, ...] = ()  # SOURCE[:TARGET]
    places: Mapping[str, Route] = {}
    mount_places: tuple[Route, ...] = ()
    priority: str = "normal"


class Share(NamedTuple):
    """What the platform gives to one task.

    `resources` are the requests of the user's container that equal its limits. `accelerators` are its GPUs (None: the
    template has none). `template` is the rest, as a PodTemplateSpec that overrides the podSet's own. `origins` has the
    places of all three: routes that begin with ("template",), below it as in `sharing.origins`, or that are
    ("resources", NAME) and ("accelerator",).
    """

    resources: Mapping[str, str] = {}
    accelerators: int | None = None
    template: Mapping[str, Any] = {}
    mounts: tuple[str, ...] = ()  # the task's own mounts, without those of the template
    origins: Mapping[Route, Route] = {}


class Timeouts(NamedTuple):
    """Seconds; None if the workflow and the pool set none."""

    execution: float | None
    queue: float | None


# The formats of pool configurations -> sections: pools and the templates that they name.
#
# Helm values            services.configs (chart `service`) or configuration (chart `osmo`), keys like podTemplates
# the service's file     the same at the top, keys like pod_templates
# `osmo config show`     {"pools": {...}}, or a single pool, or pools by name
# `osmo pool list`       {"node_sets": [{"pools": [...]}]}, which has no templates

POOL_KEYS = ("platforms", "topology_keys", "common_pod_template", "common_default_variables", "backend")
"""Keys that identify a mapping as a pool."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "pod_templates": ("podTemplates", "pod_templates"),
    "group_templates": ("groupTemplates", "group_templates"),
    "resource_validations": ("resourceValidations", "resource_validations"),
    "workflow": ("workflow",),
    "backends": ("backends",),
}
"""Section -> its key in Helm values and in the service's own file (chart `service`, templates/configs.yaml)."""

DEEPEST = 3
"""How many keys deep bayplan searches for sections."""

NO_POOLS = "it has no pools"


class Part(NamedTuple):
    """A part of the file and its place."""

    data: Any
    route: Route


class Sections(NamedTuple):
    """Pools by name, and the other sections of the file.

    `helm`: they override entries of the chart. `listed`: `osmo pool list` wrote them, without templates. `chosen`: the
    command line named the only pool that is left.
    """

    pools: Mapping[str, Part]
    others: Mapping[str, Part] = {}
    helm: bool = False
    listed: bool = False
    chosen: bool = False

    def section(self, name: str) -> Part:
        """A section other than the pools, or an empty one."""
        part = self.others.get(name)
        return part if part and isinstance(part.data, Mapping) else Part({}, part.route if part else (SUBJECT,))


class Chosen(dict[str, Any]):
    """The data of a file, with only the pool that the command line named."""


def sniff(data: Any) -> bool:
    """Whether the data can be a pool configuration."""
    return isinstance(data, Mapping) and "apiVersion" not in data and find(data) is not None


def choose(data: Any, name: str) -> Outcome[Any]:
    """The data with only that pool, at the same routes. W472 if there is no such pool."""
    sections = find(data)
    if sections is None:
        return Outcome(data)
    if name not in sections.pools and not (len(sections.pools) == 1 and "" in sections.pools):
        return Outcome(None, (unknown_pool(name, sections, "the command line"),))
    others = {part.route for each, part in sections.pools.items() if each != name and name in sections.pools}
    return Outcome(Chosen(_without(data, (SUBJECT,), others)))


def _without(value: Any, route: Route, dropped: set[Route]) -> Any:
    """The mapping without the values at the routes. List entries keep their numbers: a dropped one becomes null."""
    if not any(each[: len(route)] == route for each in dropped):
        return value
    if isinstance(value, Mapping):
        return {k: _without(v, (*route, k), dropped) for k, v in value.items() if (*route, k) not in dropped}
    items = enumerate(value) if isinstance(value, list) else ()
    return [None if (*route, n) in dropped else _without(each, (*route, n), dropped) for n, each in items]


def sections(data: Any) -> Outcome[Sections]:
    """The sections of a file; W471 if it is not a pool configuration."""
    result = find(data)
    if result is not None:
        return Outcome(result)
    message = f"the file is not a pool configuration of OSMO: {NO_POOLS}"
    hint = "pass the output of `osmo config show POOL`, or the Helm values of the OSMO service"
    if isinstance(data, Mapping) and data.get("kind") == "ConfigMap":
        message = "the file is a ConfigMap, not the pool configuration inside it"
        hint = 'extract it: `kubectl get configmap NAME -o jsonpath="{.data.config\\.yaml}"`'
    return Outcome(None, (error("W471", (SUBJECT,), message, hint=hint),))


def find(data: Any) -> Sections | None:
    """The sections of a file, or None."""
    candidates = map(_sections, _mappings(data)) if isinstance(data, Mapping) else ()
    sections = next((each for each in candidates if each is not None), None)
    return sections and sections._replace(chosen=isinstance(data, Chosen))


def _mappings(data: Mapping[str, Any]) -> Iterator[Part]:
    """The file and the mappings in it, the outer ones first."""
    level = [Part(data, (SUBJECT,))]
    for _ in range(DEEPEST):
        yield from level
        below = ((part, key, value) for part in level for key, value in part.data.items())
        level = [Part(value, (*part.route, key)) for part, key, value in below if isinstance(value, Mapping)]


def _sections(part: Part) -> Sections | None:
    data, route = part
    if isinstance(data.get("pools"), Mapping) and any(map(_is_pool, data["pools"].values())):
        # Helm merges values over those of the chart; the service's own file is complete
        helm = len(route) > 1 or any(SECTIONS[name][0] in data for name in list(SECTIONS)[:3])
        return Sections(_named(Part(data["pools"], (*route, "pools"))), _others(part), helm=helm)
    if isinstance(data.get("node_sets"), list):
        return Sections(dict(_listed(data["node_sets"], (*route, "node_sets"))), listed=True)
    if len(route) == 1 and _is_pool(data):
        name = data.get("name")
        return Sections({name if isinstance(name, str) else "": part}, _others(part))
    if len(route) == 1 and data and all(_is_pool(value) for value in data.values()):
        return Sections(_named(part))
    return None


def _is_pool(data: Any) -> bool:
    return isinstance(data, Mapping) and any(key in data for key in POOL_KEYS)


def _named(part: Part) -> dict[str, Part]:
    return {name: Part(pool, (*part.route, name)) for name, pool in part.data.items() if isinstance(pool, Mapping)}


def _others(part: Part) -> dict[str, Part]:
    data, route = part
    return {name: Part(data[key], (*route, key)) for name, keys in SECTIONS.items() for key in keys if key in data}


def _listed(node_sets: list[Any], route: Route) -> Iterator[tuple[str, Part]]:
    for n, node_set in enumerate(node_sets):
        pools = node_set.get("pools") if isinstance(node_set, Mapping) else None
        for p, pool in enumerate(pools if isinstance(pools, list) else ()):
            if isinstance(pool, Mapping) and isinstance(pool.get("name"), str):
                yield pool["name"], Part(pool, (*route, n, "pools", p))


def select(sections: Sections, name: str) -> Outcome[tuple[str, Part]]:
    """The pool of that name, or the only one. W472: an error without a choice, a warning if the only one has another
    name."""
    pools = sections.pools
    if name in pools:
        return Outcome((name, pools[name]))
    if len(pools) != 1:
        return Outcome(None, (unknown_pool(name, sections, "the workflow"),))
    (only, part), *_ = pools.items()
    if not (name and only) or sections.chosen:
        return Outcome((only or name, part))
    message = f'the workflow names the pool "{name}"; bayplan uses "{only}", the only one in the file'
    hint = f"pass the file as FILE#{only} if you mean that pool"
    return Outcome((only, part), (warning("W472", part.route, message, hint=hint),))


def unknown_pool(name: str, sections: Sections, who: str) -> Diagnostic:
    """W472."""
    pools = listing([each for each in sections.pools if each], "and") or "none with a name"
    message = f'{who} names the pool "{name}", which is not in the file; the file has {pools}'
    if not name:
        message = f"the file has several pools, {pools}; the workflow and the command line do not name one"
    hint = did_you_mean(name, sections.pools) or "pass the file as FILE#POOL"
    return error("W472", (SUBJECT,), message, hint=hint)


# Merging one mapping over another, as OSMO and Helm do.

Path = tuple[str | int, ...]


def merge_templates(base: Any, over: Mapping[str, Any], clashes: list[Path], path: Path = ()) -> dict[str, Any]:
    """`over` merged over `base`, as in OSMO (src/lib/utils/common.py, recursive_dict_update with merge_lists_on_name).

    Mappings merge. Entries of lists merge if they have the same `name`; other entries are appended. Other values
    replace. OSMO fails on a mapping over another type: its path goes to `clashes`, and the mapping replaces the value.
    """
    if not isinstance(base, Mapping):
        clashes.append(path)
        base = {}
    merged = dict(base)
    for key, value in over.items():
        here: Path = (*path, key)
        if isinstance(value, Mapping):
            merged[key] = merge_templates(merged.get(key, {}), value, clashes, here)
        elif isinstance(value, list) and isinstance(merged.get(key), list):
            merged[key] = merge_lists(merged[key], value, clashes, here)
        else:
            merged[key] = value
    return merged


def merge_lists(base: list[Any], over: Iterable[Any], clashes: list[Path], path: Path = ()) -> list[Any]:
    """Entries of `over` with the name of an entry in `base` merge with it (with the last such entry). Others follow."""
    merged = list(base)
    places = {name: place for place, each in enumerate(base) for name in _names(each)}
    for each in over:
        same_name = [places[name] for name in _names(each) if name in places]
        if same_name:
            place = same_name[0]
            merged[place] = merge_templates(merged[place], each, clashes, (*path, place))
        else:
            merged.append(each)
    return merged


def _names(entry: Any) -> tuple[Any, ...]:
    """The name of an entry, if it has one. To OSMO, null is a name too."""
    named = isinstance(entry, Mapping) and "name" in entry and not isinstance(entry["name"], Mapping | list)
    return (entry["name"],) if named else ()


def merge_helm_values(chart: Any, values: Any) -> Any:
    """Values of a user over those of a chart, as in Helm: mappings merge, null deletes, other values replace."""
    if not (isinstance(chart, Mapping) and isinstance(values, Mapping)):
        return values
    merged = {key: merge_helm_values(chart[key], value) if key in chart else value for key, value in values.items()}
    both = {**chart, **merged}
    return {key: value for key, value in both.items() if not (key in chart and value is None)}
