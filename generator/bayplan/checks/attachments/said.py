"""Variables of a podSet, and where each is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Route
from bayplan.kube.pod import container_name
from bayplan.kube.safe import items, text
from bayplan.model.fabric import Fabric
from bayplan.model.workflow import PodSet
from bayplan.values import NamedTuple

GLOO = "GLOO_SOCKET_IFNAME"


class Said(NamedTuple):
    """A variable's value. `topology`: its fabric says it, not the workflow."""

    value: str
    route: Route
    topology: bool = False


def said(pods: PodSet, route: Route, fabric: Fabric | None = None) -> Mapping[str, Said]:
    """Name -> its value: the template's, else the podSet's, else that of the fabric."""
    found = dict(_of_fabric(fabric)) if fabric else {}
    found |= {name: Said(value, (*route, "env", name)) for name, value in pods.env.items()}
    return found | dict(_of_template(pods, route))


def _of_fabric(fabric: Fabric) -> Iterator[tuple[str, Said]]:
    at: Route = ("topology", "spec", "fabrics", fabric.name, "env")
    return ((name, Said(value, (*at, name), True)) for name, value in fabric.env.items())


def _of_template(pods: PodSet, route: Route) -> Iterator[tuple[str, Said]]:
    own = container_name(pods)
    at: Route = (*route, "template", "spec", "containers")
    for index, container in enumerate(items(pods.template, "spec", "containers")):
        if (text(container, "name") or own) == own:
            for number, entry in enumerate(items(container, "env")):
                name, value = text(entry, "name"), text(entry, "value")
                if name and value:
                    yield name, Said(value, (*at, index, "env", number, "value"))
