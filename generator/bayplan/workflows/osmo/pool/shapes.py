"""The forms in which pool configurations are found -> sections: pools and the templates that they name.

Helm values            services.configs (chart `service`) or configuration (chart `osmo`), keys like podTemplates
the service's file     the same at the top, keys like pod_templates
`osmo config show`     {"pools": {...}}, or one pool alone, or pools by name
`osmo pool list`       {"node_sets": [{"pools": [...]}]}, which has no templates
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, warning
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean, listing
from bayplan.workflows.osmo.pool.values import SUBJECT

POOL_KEYS = ("platforms", "topology_keys", "common_pod_template", "common_default_variables", "backend")
"""Keys by which a mapping is a pool."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "pod_templates": ("podTemplates", "pod_templates"),
    "group_templates": ("groupTemplates", "group_templates"),
    "resource_validations": ("resourceValidations", "resource_validations"),
    "workflow": ("workflow",),
    "backends": ("backends",),
}
"""Section -> its key in Helm values and in the service's own file (chart `service`, templates/configs.yaml)."""

DEEPEST = 3
"""So many keys down sections are looked for."""

NO_POOLS = "there are no pools in it"


class Part(NamedTuple):
    """A piece of the file and where it stands."""

    data: Any
    route: Route


class Sections(NamedTuple):
    """Pools by name, and the other sections of the file.

    `helm`: they are laid over what the chart brings. `listed`: `osmo pool list` wrote them, without templates.
    `chosen`: the command line named the one pool that is left.
    """

    pools: Mapping[str, Part]
    others: Mapping[str, Part] = {}
    helm: bool = False
    listed: bool = False
    chosen: bool = False

    def section(self, name: str) -> Part:
        """A section other than the pools, empty where there is none."""
        part = self.others.get(name)
        return part if part and isinstance(part.data, Mapping) else Part({}, part.route if part else (SUBJECT,))


class Chosen(dict[str, Any]):
    """The data of a file of which the command line chose one pool."""


def sniff(data: Any) -> bool:
    """Whether the data look like a pool configuration."""
    return isinstance(data, Mapping) and "apiVersion" not in data and find(data) is not None


def choose(data: Any, name: str) -> Outcome[Any]:
    """The data without all pools but that one, routes as before. W472 where there is none of that name."""
    found = find(data)
    if found is None:
        return Outcome(data)
    if name not in found.pools and not (len(found.pools) == 1 and "" in found.pools):
        return Outcome(None, (unknown_pool(name, found, "the command line"),))
    others = {part.route for each, part in found.pools.items() if each != name and name in found.pools}
    return Outcome(Chosen(_without(data, (SUBJECT,), others)))


def _without(value: Any, route: Route, dropped: set[Route]) -> Any:
    """The mapping without what stands at the routes. List entries keep their numbers: a dropped one becomes null."""
    if not any(each[: len(route)] == route for each in dropped):
        return value
    if isinstance(value, Mapping):
        return {k: _without(v, (*route, k), dropped) for k, v in value.items() if (*route, k) not in dropped}
    items = enumerate(value) if isinstance(value, list) else ()
    return [None if (*route, n) in dropped else _without(each, (*route, n), dropped) for n, each in items]


def sections(data: Any) -> Outcome[Sections]:
    """The sections of a file; W471 where it is no pool configuration."""
    found = find(data)
    if found is not None:
        return Outcome(found)
    return Outcome(None, (_stranger(data),))


def find(data: Any) -> Sections | None:
    """The sections of a file, or None."""
    if not isinstance(data, Mapping):
        return None
    chosen = isinstance(data, Chosen)
    for part in _mappings(data):
        made = _sections(part)
        if made is not None:
            return made._replace(chosen=chosen)
    return None


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
        return Sections(_named(Part(data["pools"], (*route, "pools"))), _others(part), helm=_is_helm(part))
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


def _is_helm(part: Part) -> bool:
    """Helm lays values over those of the chart; the service's own file has everything."""
    return len(part.route) > 1 or any(SECTIONS[name][0] in part.data for name in list(SECTIONS)[:3])


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


def _stranger(data: Any) -> Diagnostic:
    hint = "give what `osmo config show POOL` prints, or the Helm values of the OSMO service"
    if isinstance(data, Mapping) and data.get("kind") == "ConfigMap":
        message = "this is the ConfigMap around a pool configuration, not the configuration"
        hint = 'give what stands in its data: `kubectl get configmap NAME -o jsonpath="{.data.config\\.yaml}"`'
        return error("W471", (SUBJECT,), message, hint=hint)
    return error("W471", (SUBJECT,), f"this is no pool configuration of OSMO: {NO_POOLS}", hint=hint)


def select(found: Sections, name: str) -> Outcome[tuple[str, Part]]:
    """The pool of that name, else the only one. W472: nobody says which; W473: the only one has another name."""
    pools = found.pools
    if name in pools:
        return Outcome((name, pools[name]))
    if len(pools) != 1:
        return Outcome(None, (unknown_pool(name, found, "the workflow"),))
    (only, part), *_ = pools.items()
    if not (name and only) or found.chosen:
        return Outcome((only or name, part))
    message = f'the workflow names the pool "{name}"; the only one in the file, "{only}", is taken'
    hint = f"give the file as FILE#{only} if that is meant"
    return Outcome((only, part), (warning("W473", part.route, message, hint=hint),))


def unknown_pool(name: str, found: Sections, who: str) -> Diagnostic:
    """W472."""
    pools = listing([each for each in found.pools if each], "and") or "none with a name"
    message = f'{who} names the pool "{name}", which is not in the file; there is {pools}'
    if not name:
        message = f"the file has several pools, {pools}, and neither the workflow nor the command line names one"
    hint = did_you_mean(name, found.pools) or "name one as FILE#POOL"
    return error("W472", (SUBJECT,), message, hint=hint)
