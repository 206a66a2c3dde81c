"""Claims by templates that are not among the manifests: nobody can tell what the pods get by them."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan._augment.cluster import Cluster
from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube import cards
from bayplan.kube.safe import items, text
from bayplan.model.augment import Roster
from bayplan.model.plan import Plan, all_pods
from bayplan.values import NamedTuple
from bayplan.weave import CHANNEL


class Stranger(NamedTuple):
    """A podSet, the template that it claims by, and where it says so."""

    pods: str
    template: str
    route: Route


def strangers(roster: Roster, namespace: str, cluster: Cluster) -> tuple[Stranger, ...]:
    """The claims of a workload by templates that are neither there nor made for a ComputeDomain that is."""
    return tuple(_strangers(roster, namespace, cluster))


def _strangers(roster: Roster, namespace: str, cluster: Cluster) -> Iterator[Stranger]:
    for seat in roster.seats:
        at = (*seat.path, "spec", "resourceClaims")
        for number, claim in enumerate(items(roster.object.data, *at)):
            template = text(claim, "resourceClaimTemplateName")
            if template and text(claim, "name") != CHANNEL and not _known(template, namespace, cluster):
                yield Stranger(seat.name, template, (*roster.object.route, *at, number, "resourceClaimTemplateName"))


def _known(template: str, namespace: str, cluster: Cluster) -> bool:
    return any(name == template and cards.meets(namespace, where) for where, name in cluster.described)


def uncounted(found: tuple[Stranger, ...], plan: Plan) -> Iterator[Diagnostic]:
    """W514. An error where the pods would get a channel besides: a node has only one."""
    given = {pods.spec.name for gang in plan.gangs for pods in all_pods(gang.root) if pods.compute_domain}
    for each in found:
        what = f'podSet "{each.pods}" claims by the template "{each.template}", which is not among the manifests'
        if each.pods in given:
            message = f"{what}; if that is the channel of a ComputeDomain, pods with a second one never start"
            hint = "read its ComputeDomain with it, or use `compute-domain: never`; else `--accept W514`"
            yield error("W514", each.route, message, hint=hint)
        else:
            message = f"{what}; cards that come by it are not counted"
            yield warning("W514", each.route, message, hint="read the ResourceClaimTemplate or ComputeDomain with it")
