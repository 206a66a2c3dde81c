"""The rules of `bayplan lint` for objects of any scheduler, one module for each family."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic
from bayplan.kube.grove import BINDINGS, GRAPH, SET, is_grove, located
from bayplan.linting import (
    claims,
    network_objects,
    network_pods,
    network_rails,
    nvlink,
    objects,
    schedulers,
    workloads,
)
from bayplan.linting.network_index import network_index
from bayplan.linting.objects import LintContext, Rule


def check_networks(context: LintContext) -> Iterator[Diagnostic]:
    """M815, M842 to M858: secondary networks and the pods that request them."""
    index = network_index(context)
    for rule in (
        network_pods.check_annotations,
        network_pods.check_devices,
        network_pods.check_permissions,
        network_rails.check_rails,
        network_rails.check_variables,
        network_objects.check_objects,
        network_objects.check_addresses,
    ):
        yield from rule(context, index)
    yield from network_objects.check_sriov(context)
    yield from network_objects.check_plugins(context)
    yield from network_rails.check_claims(context)


def check_grove(context: LintContext) -> Iterator[Diagnostic]:
    """M883, M717, M719, M809: objects of Grove, and graphs of Dynamo."""
    if any(each in context.kinds for each in (SET, GRAPH, *BINDINGS)):
        from bayplan.linting.grove import check  # few manifests have its kinds

        yield from check(context)


RULES: tuple[Rule, ...] = (
    objects.check,
    schedulers.check,
    schedulers.check_gangs,
    schedulers.check_owners,
    workloads.check_jobsets,
    workloads.check_labels,
    workloads.check_addresses,
    claims.check,
    claims.check_compute_domains,
    nvlink.check,
    workloads.check_hami,
    check_networks,
    workloads.check_torchx,
    workloads.check_refused,
    check_grove,
)


def lint(context: LintContext) -> Iterator[Diagnostic]:
    """The findings of all rules. Rules about nodes need a topology with pools."""
    made = {one.route: one for one in context.objects if is_grove(one)}
    for rule in RULES:
        found = rule(context)
        yield from (located(each, made) for each in found) if made and rule is not check_grove else found
