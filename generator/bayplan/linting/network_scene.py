"""The networks that there are, of manifests and of the topology, and what each pod template asks of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.fabrics import NETWORKED
from bayplan.kube import networks as multus
from bayplan.kube import quantity
from bayplan.kube.networks import Network, networks
from bayplan.kube.objects import get, items, mapping, namespace
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import World, together
from bayplan.model.topology import Fabric, Rail

OWN = ("kubernetes.io", "k8s.io")
"""Domains whose resources are Kubernetes' own; those are no devices."""


class Known(NamedTuple):
    """A network that somebody describes: an object among the manifests, or a rail of the topology."""

    name: str
    namespace: str = ""
    kind: str = ""
    resource: str = ""
    link_type: str = ""
    network: Network | None = None
    rail: Rail | None = None
    fabric: Fabric | None = None

    @property
    def title(self) -> str:
        """`fabric/rail-0`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Asking(NamedTuple):
    """A pod template that asks for networks."""

    template: PodTemplate
    route: Route
    annotation: multus.Annotation
    found: tuple[Known | None, ...] = ()  # for each selection


class Scene(NamedTuple):
    """All networks by name, and every template that asks for some."""

    by_name: Mapping[str, Sequence[Known]]
    asking: tuple[Asking, ...]

    def every(self) -> Iterator[Known]:
        """All that are known."""
        return (each for listed in self.by_name.values() for each in listed)


def scene(world: World) -> Scene:
    """What there is, and who asks for it."""
    known: dict[str, list[Known]] = {}
    for each in (*_described(world), *_rails(world)):
        _add(known.setdefault(each.name, []), each)
    asking = tuple(_asking(each, known) for each in world.templates if multus.NETWORKS in each.annotations)
    return Scene(known, asking)


def _described(world: World) -> Iterator[Known]:
    for each in networks(world.objects):
        yield Known(each.name, each.namespace, each.kind, each.resource, each.link_type, each)


def _rails(world: World) -> Iterator[Known]:
    for fabric in world.topology.fabrics.values():
        for rail in fabric.rails if fabric.kind in NETWORKED else ():
            space, _, name = rail.network.rpartition("/")
            yield Known(name, space, fabric.kind, rail.resource, fabric.link_type, None, rail, fabric)


def _add(listed: list[Known], one: Known) -> None:
    """Several objects, and a rail of the topology, may stand for one network: together they say more."""
    for place, each in enumerate(listed):
        if together(each.namespace, one.namespace):
            resource = each.resource if "/" in each.resource else one.resource or each.resource
            listed[place] = each._replace(
                kind=each.kind or one.kind,
                resource=resource,
                link_type=each.link_type or one.link_type,
                network=each.network or one.network,
                rail=each.rail or one.rail,
                fabric=each.fabric or one.fabric,
            )
            return
    listed.append(one)


def _asking(template: PodTemplate, known: Mapping[str, Sequence[Known]]) -> Asking:
    route = (*template.route, "metadata", "annotations", multus.NETWORKS)
    given = template.annotations[multus.NETWORKS]
    if not isinstance(given, str):
        return Asking(template, route, multus.Annotation(faults=("an annotation is a text",)))
    annotation = multus.read(given)
    home = namespace(template.object)
    found = (
        next((one for one in known.get(each.name, ()) if together(one.namespace, each.namespace or home)), None)
        for each in annotation.selections
    )
    return Asking(template, route, annotation, tuple(found))


def extended(name: str) -> bool:
    """Whether a resource is a device of somebody's plugin."""
    domain = name.rpartition("/")[0]
    return bool(domain) and not domain.endswith(OWN) and not name.startswith("requests.")


def amounts(resources: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    """Extended resources under `requests` or `limits`."""
    for name, value in mapping(resources, key).items():
        if isinstance(name, str) and extended(name):
            yield name, value


def whole(value: Any) -> int | None:
    """A whole number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        parsed = quantity.parse(str(value))
    except ValueError:
        return None
    return parsed // 1000 if parsed % 1000 == 0 and parsed >= 0 else None


def asked(template: PodTemplate) -> dict[str, int]:
    """Extended resources that a pod asks for: the sum of its containers. A lone limit is the request too."""
    total: dict[str, int] = {}
    for container in items(template.spec, "containers"):
        resources = mapping(container, "resources")
        for name in {**dict(amounts(resources, "requests")), **dict(amounts(resources, "limits"))}:
            value = get(resources, "limits", name)
            count = whole(get(resources, "requests", name) if value is None else value)
            total[name] = total.get(name, 0) + (count or 0)
    return total
