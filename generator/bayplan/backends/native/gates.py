"""What must be switched on in the cluster: all of it is off by default (kube_features.go, 1.35.0 to 1.37.0).

While a gate is off, the API server drops the fields that belong to it and warns of nothing (pkg/registry/scheduling,
strategy.go), so a missing gate looks like success. Only a second apply of the same object may be refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.native.tree import COMPONENT, FIRST, LEVELS, TREES, Node, trees, walk_nodes
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.core.values import NamedTuple
from bayplan.model.manifest import Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology


class Switch(NamedTuple):
    """A feature gate, where it is needed and what for."""

    gate: str
    where: str
    why: str


BOTH, EVERYWHERE = "kube-apiserver and kube-scheduler", "kube-apiserver, kube-controller-manager and kube-scheduler"


def is_on(topology: ClusterTopology, gate: str) -> bool | None:
    """What the topology file says of a gate; None: nothing."""
    gates: Mapping[str, bool] = topology.gates("native")
    return gates.get(gate)


def switches(plan: Plan, target: Target) -> Iterator[Switch]:
    """The gates that the plan's objects depend on."""
    nodes = [node for gang in plan.gangs for node, _ in walk_nodes(trees(plan, gang.root, target))]
    served = f"with the API {' and '.join(sorted(apis(nodes, target)))} served (--runtime-config)"
    where = (
        EVERYWHERE if target.since(COMPONENT, LEVELS) else BOTH
    )  # PodGroups have a finalizer, and a controller for it
    yield Switch("GenericWorkload", where, f"for Workloads and the pods that name them, {served}")
    if not target.since(COMPONENT, TREES):
        yield Switch("GangScheduling", "kube-scheduler", "to start all pods of a gang or none")
    tree = any(node.children for node in nodes)
    if tree or any(node.key for node in nodes):  # CompositePodGroup depends on it, with or without levels
        yield Switch(
            "TopologyAwareWorkloadScheduling", BOTH, "for levels, which are dropped without a word while it is off"
        )
    if tree:
        yield Switch("CompositePodGroup", EVERYWHERE, "for groups of groups")


def apis(nodes: list[Node], target: Target) -> set[str]:
    """The API versions of what is written; none of them is served by default."""
    if target.since(COMPONENT, TREES):
        composite = {"scheduling.k8s.io/v1alpha3"} if any(node.children for node in nodes) else set()
        return {"scheduling.k8s.io/v1beta1", *composite}
    return {"scheduling.k8s.io/v1alpha2" if target.since(COMPONENT, LEVELS) else "scheduling.k8s.io/v1alpha1"}


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One for each gate, unless the topology file says that it is on."""
    return tuple(_notices(plan, target)) if target.since(COMPONENT, FIRST) else ()


def _notices(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    for gate, where, why in switches(plan, target):
        stated = is_on(plan.topology, gate)
        needs = f"Kubernetes {target.version(COMPONENT)} needs the feature gate {gate} in {where} {why}"
        if stated is False:
            route = ("topology", "spec", "schedulers", "native", "featureGates", gate)
            hint = "switch it on, or choose another scheduler"
            yield error("F689", route, f"{needs}; the topology says that it is off", hint=hint)
        elif stated is None:
            hint = (
                f"once it is on, say so in the topology: `schedulers: {{native: {{featureGates: {{{gate}: true}}}}}}`"
            )
            yield info("F689", ("topology", "metadata", "name"), f"{needs}; it is off by default", hint=hint)
