"""The variables and template values of a podSet's pods, with their place in the podSet, its pool or its fabric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.fabrics import fabric_of
from bayplan.kube.objects import get, items, text
from bayplan.kube.pod import container_name
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import PodSet, texts

GLOO = "GLOO_SOCKET_IFNAME"


class DeclaredValue(NamedTuple):
    """A variable's value. `topology`: the fabric or the pool sets it, not the workflow."""

    value: str
    route: Route
    topology: bool = False


class Layer(NamedTuple):
    """A template that is merged into the generated pod."""

    template: Mapping[str, Any]
    route: Route
    title: str


def layers(pods: PodSet, route: Route, topology: ClusterTopology, pool: str) -> tuple[Layer, ...]:
    """The template of the podSet's pool, then the podSet's own, which takes precedence."""
    number = next((n for n, each in enumerate(topology.pools) if each.name == pool), None)
    own = Layer(pods.template, (*route, "template"), "template of the podSet")
    if number is None:
        return (own,)
    at: Route = ("topology", "spec", "pools", number, "template")
    return Layer(topology.pools[number].template, at, "template of its pool"), own


def template_value(templates: tuple[Layer, ...], *path: str) -> tuple[Any, Route]:
    """The value at a path in the last template that has it, and its place; None if no template has it."""
    for each in reversed(templates):
        value = get(each.template, *path)
        if value is not None:
            return value, (*each.route, *path)
    return None, ()


def declared_values(pods: PodSet, route: Route, topology: ClusterTopology, pool: str) -> Mapping[str, DeclaredValue]:
    """Variable -> its value: from the template, otherwise the podSet, otherwise the fabric."""
    values: dict[str, DeclaredValue] = {}
    if fabric := fabric_of(pods, topology):
        at: Route = ("topology", "spec", "fabrics", fabric.name, "env")
        values |= {name: DeclaredValue(value, (*at, name), True) for name, value in fabric.env.items()}
    values |= {name: DeclaredValue(value, (*route, "env", name)) for name, value in texts(pods.env).items()}
    for each in layers(pods, route, topology, pool):
        values |= dict(_of_template(each, container_name(pods)))
    return values


def _of_template(layer: Layer, own: str) -> Iterator[tuple[str, DeclaredValue]]:
    """The variables of the generated container: one without a name, or with its name."""
    at: Route = (*layer.route, "spec", "containers")
    for index, container in enumerate(items(layer.template, "spec", "containers")):
        if (text(container, "name") or own) == own:
            for number, entry in enumerate(items(container, "env")):
                name, value = text(entry, "name"), text(entry, "value")
                if name and value:
                    yield name, DeclaredValue(value, (*at, index, "env", number, "value"), layer.route[0] == "topology")
