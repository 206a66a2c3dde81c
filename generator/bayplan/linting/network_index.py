"""An index of secondary networks and of the pods that request them.

No other tool checks them before the pod starts: the Network Operator's webhook is off by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.fabrics import NETWORKED
from bayplan.kube import networks as multus
from bayplan.kube import quantity
from bayplan.kube.networks import Network, networks
from bayplan.kube.objects import get, items, mapping, namespace
from bayplan.kube.pod import NETWORKS
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext, same_namespace
from bayplan.model.topology import Fabric, Rail

OWN = ("kubernetes.io", "k8s.io")
"""Domains of Kubernetes' own resources, which are not devices."""


class DescribedNetwork(NamedTuple):
    """A network: an object of the manifests, a rail of the topology, or both."""

    name: str
    namespace: str = ""
    kind: str = ""
    resource: str = ""
    link_type: str = ""
    network: Network | None = None
    rail: Rail | None = None
    fabric: Fabric | None = None
    rails: tuple[Rail, ...] = ()  # all rails of the network; `rail` is the first, or that of the selection

    @property
    def title(self) -> str:
        """`fabric/rail-0`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class AttachedPods(NamedTuple):
    """A pod template that requests networks."""

    template: PodTemplate
    route: Route
    annotation: multus.Annotation
    networks: tuple[DescribedNetwork | None, ...] = ()  # for each selection


class NetworkIndex(NamedTuple):
    """All networks by name, and the pod templates that request networks."""

    by_name: Mapping[str, Sequence[DescribedNetwork]]
    attached: tuple[AttachedPods, ...]
    networks: tuple[Network, ...]  # of the manifests

    def every(self) -> Iterator[DescribedNetwork]:
        """All networks."""
        return (each for listed in self.by_name.values() for each in listed)


def network_index(context: LintContext) -> NetworkIndex:
    """The networks of the manifests and of the topology, and the pod templates that request networks."""
    described: dict[str, list[DescribedNetwork]] = {}
    written = tuple(networks(context.among({*multus.KINDS, multus.DEFINITION})))
    for each in (*map(_of_manifest, written), *_rail_networks(context)):
        _merge_into(described.setdefault(each.name, []), each)
    attached = tuple(_attached_pods(each, described) for each in context.templates if NETWORKS in each.annotations)
    return NetworkIndex(described, attached, written)


def _of_manifest(each: Network) -> DescribedNetwork:
    return DescribedNetwork(each.name, each.namespace, each.kind, each.resource, each.link_type, each)


def _rail_networks(context: LintContext) -> Iterator[DescribedNetwork]:
    for fabric in context.topology.fabrics.values():
        for rail in fabric.rails if fabric.kind in NETWORKED else ():
            space, _, name = rail.network.rpartition("/")
            yield DescribedNetwork(
                name, space, fabric.kind, rail.resource, fabric.link_type, None, rail, fabric, (rail,)
            )


def _merge_into(listed: list[DescribedNetwork], one: DescribedNetwork) -> None:
    """Adds a network to the list, or adds what it says to an entry of the same network."""
    for place, each in enumerate(listed):
        if same_namespace(each.namespace, one.namespace):
            resource = each.resource if "/" in each.resource else one.resource or each.resource
            listed[place] = each._replace(
                kind=each.kind or one.kind,
                resource=resource,
                link_type=each.link_type or one.link_type,
                network=each.network or one.network,
                rail=each.rail or one.rail,
                fabric=each.fabric or one.fabric,
                rails=(*each.rails, *one.rails),
            )
            return
    listed.append(one)


def _attached_pods(template: PodTemplate, described: Mapping[str, Sequence[DescribedNetwork]]) -> AttachedPods:
    route = (*template.route, "metadata", "annotations", NETWORKS)
    annotation_text = template.annotations[NETWORKS]
    if not isinstance(annotation_text, str):
        return AttachedPods(template, route, multus.Annotation(faults=("an annotation must be a string",)))
    annotation = multus.read(annotation_text)

    def selected(name: str, where: str) -> DescribedNetwork | None:
        return next((one for one in described.get(name, ()) if same_namespace(one.namespace, where)), None)

    own = namespace(template.object)
    networks = (selected(each.name, each.namespace or own) for each in annotation.selections)
    return AttachedPods(template, route, annotation, tuple(_rail_by_rail(networks)))


def _rail_by_rail(networks: Iterable[DescribedNetwork | None]) -> Iterator[DescribedNetwork | None]:
    """Each selection of a network that several rails share, with the next of these rails."""
    taken: Counter[str] = Counter()
    for one in networks:
        if one and taken[one.title] < len(one.rails):
            yield one._replace(rail=one.rails[taken[one.title]])
            taken[one.title] += 1
        else:
            yield one


def is_extended(name: str) -> bool:
    """Whether a resource is an extended resource, which a device plugin offers."""
    domain = name.rpartition("/")[0]
    return bool(domain) and not domain.endswith(OWN) and not name.startswith("requests.")


def extended_resources(resources: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    """Extended resources under `requests` or `limits`."""
    for name, value in mapping(resources, key).items():
        if isinstance(name, str) and is_extended(name):
            yield name, value


def whole_number(value: Any) -> int | None:
    """The value as an integer of 0 or more; None if it is anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        parsed = quantity.parse(str(value))
    except ValueError:
        return None
    return parsed // 1000 if parsed % 1000 == 0 and parsed >= 0 else None


def device_requests(template: PodTemplate) -> dict[str, int]:
    """The extended resources that a pod requests, as the sum of its containers. Without a request, the limit counts."""
    total: dict[str, int] = {}
    for container in items(template.spec, "containers"):
        resources = mapping(container, "resources")
        for name in {
            **dict(extended_resources(resources, "requests")),
            **dict(extended_resources(resources, "limits")),
        }:
            value = get(resources, "limits", name)
            count = whole_number(get(resources, "requests", name) if value is None else value)
            total[name] = total.get(name, 0) + (count or 0)
    return total
