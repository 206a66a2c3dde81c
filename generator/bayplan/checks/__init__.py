"""One file per family of checks: functions that yield diagnostics about sound values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayplan.checks import accelerators, attachments, inventory, references, templates, topology, workflow
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow, has_own_fields, pod_sets, serves


def check_fabrics(cluster: ClusterTopology) -> Iterator[Diagnostic]:
    """T600 to T612, W527, W565: what operators, plugins or networks cannot do. Loaded only if there is a fabric."""
    if cluster.fabrics:
        from bayplan.checks import fabrics, network_addresses

        for each in cluster.fabrics.values():
            yield from fabrics.check_kinds(each)
            yield from fabrics.check_names(each)
            yield from fabrics.check_rails(each)
        yield from fabrics.check_fabric_nodes(cluster)
        yield from network_addresses.check_addresses(cluster)


def check_address_room(definition: Workflow, cluster: ClusterTopology) -> Iterator[Diagnostic]:
    """T605 of a workflow, if a fabric has address ranges for the whole cluster or blocks for nodes."""
    if any(each.ipam.kind in ("whereabouts", "nv-ipam") for each in cluster.fabrics.values()):
        from bayplan.checks import network_addresses

        yield from network_addresses.check_address_room(definition, cluster)


def check_security(definition: Workflow, cluster: ClusterTopology) -> Iterator[Diagnostic]:
    """W630 to W636. Loaded only if a pod has a fabric or a template, or a namespace declares what it allows."""
    judged = (place.pods for place in pod_sets(definition))
    special = any(pods.fabric or pods.template or has_own_fields(pods) for pods in judged)
    if special or cluster.namespaces or any(pool.template for pool in cluster.pools):
        from bayplan.checks import security

        yield from security.check(definition, cluster)


def check_clients(definition: Workflow) -> Iterator[Diagnostic]:
    """W367 to W369, W373 and W371. Loaded only if a gang serves clients."""
    if any(gang.service or gang.autoscale or serves(gang) for gang in definition.gangs):
        from bayplan.checks import services

        yield from services.check(definition)


def check_pods(definition: Workflow) -> Iterator[Diagnostic]:
    """W313, W338, W339, W394. Loaded only for volumes, values that are looked up, and other containers or probes."""
    if any(has_own_fields(place.pods) for place in pod_sets(definition)):
        from bayplan.checks import pods

        yield from pods.check(definition)


WORKFLOW_CHECKS: tuple[Callable[[Workflow], Iterator[Diagnostic]], ...] = (
    workflow.check_naming,
    workflow.check_structure,
    workflow.check_matrix,
    workflow.check_dependencies,
    workflow.check_services,
    workflow.check_hosts,
    templates.check_template,
    templates.check_amounts,
    workflow.check_data,
    check_clients,
    check_pods,
)
"""Checks of a workflow without a topology."""

TOPOLOGY_CHECKS: tuple[Callable[[ClusterTopology], Iterator[Diagnostic]], ...] = (
    topology.check_nodes,
    topology.check_tree,
    topology.check_nvlink,
    topology.check_labels,
    inventory.check_offer,
    check_fabrics,
    inventory.check_cards,
    templates.check_pools,
)
"""Checks of a topology without a workflow."""

SURVEY_CHECKS: tuple[Callable[[ClusterTopology], Iterator[Diagnostic]], ...] = (inventory.check_survey,)
"""Checks that only `topology check` runs. All of them report infos."""

TOGETHER: tuple[Callable[[Workflow, ClusterTopology], Iterator[Diagnostic]], ...] = (
    references.check,
    references.check_levels,
    accelerators.check,
    templates.check_cards,
    attachments.check,
    check_address_room,
    check_security,
)
"""Checks of a workflow on a topology, after each passed its own checks."""

TARGETED: tuple[Callable[[Workflow, ClusterTopology, Target], Iterator[Diagnostic]], ...] = (
    templates.check_pod_templates,
)
"""Checks of both, for the target versions."""

SCHEDULED: tuple[Callable[[Workflow, ClusterTopology, Target, str], Iterator[Diagnostic]], ...] = (
    accelerators.check_pods,
    workflow.check_images,
)
"""Checks of both, for the target versions and one scheduler."""
