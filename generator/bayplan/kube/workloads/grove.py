"""PodCliqueSet (grove.io) and DynamoGraphDeployment (nvidia.com): a podSet for each clique."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.kube import grove
from bayplan.kube.objects import get, text, title
from bayplan.kube.templates import Amount
from bayplan.kube.workloads.parts import Objects, slot, templates
from bayplan.model.augment import TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Object


def pod_clique_set(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """The cliques by their names. Each replica of the set is a gang."""
    view = grove.opened(one)
    parts = grove.layout(view.data)
    found = templates("podcliqueset", view, tuple(_slots(view, parts)), gangs=parts.copies or 0, opened_from=one)
    return found._replace(diagnostics=tuple(grove.located(each, {one.route: one}) for each in found.diagnostics))


def graph(one: Object, _: Objects) -> Outcome[WorkloadTemplates]:
    """The cliques that Dynamo's operator makes of its components. W500: it makes other pods."""
    wrong = tuple(_unknown(one))
    if wrong:
        return Outcome(None, wrong)
    view = grove.opened(one)
    parts = grove.layout(view.data)
    queue = text(one.data, "metadata", "annotations", grove.DYNAMO_QUEUE)
    slots = tuple(_slots(view, parts))
    found = templates("dynamographdeployment", view, slots, queue=queue, opened_from=one)
    return found._replace(diagnostics=tuple(grove.located(each, {one.route: one}) for each in found.diagnostics))


def _slots(view: Object, parts: grove.Layout) -> Iterator[TemplateSlot | Diagnostic]:
    copies = {each.name: each.replicas for each in parts.groups}
    for clique in parts.cliques:
        amount = Amount(clique.replicas, copies.get(clique.group, 1))
        found = slot(view, clique.name, clique.path, pods=amount)
        if isinstance(found, TemplateSlot):
            label = "grove.io/podcliquescalinggroup-replica-index" if clique.group else ""
            found = found._replace(copy_label=label, group=clique.group, least=clique.least)
        yield found


def _unknown(one: Object) -> Iterator[Diagnostic]:
    """W500: what makes other pods than `multinode` (Dynamo's main branch, graph.go, expandRolesForComponent)."""
    if text(one.data, "metadata", "annotations", grove.DYNAMO_GROVE).lower() == "false":
        message = f"Dynamo makes Deployments and LeaderWorkerSets of {title(one)}, because it does not use Grove"
        route = (*one.route, "metadata", "annotations", grove.DYNAMO_GROVE)
        yield error("W500", route, message, hint="remove the annotation, or remove the placement")
    places = chain.from_iterable(
        ((part.path, part.data), ((*part.path, "experimental"), get(part.data, "experimental")))
        for part in grove.components(one.data)
    )
    for path, data in ((("spec", "experimental"), get(one.data, "spec", "experimental")), *places):
        for key in ("componentGroups", "gpuMemoryService", "failover", "grove", "roles"):
            if get(data, key):
                message = f"bayplan does not know which pods Dynamo makes of {title(one)} with `{key}`"
                yield error("W500", (*one.route, *path, key), message, hint="remove it, or remove the placement")
