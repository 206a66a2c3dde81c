"""What pods on networks may do, against what their namespace lets in (FAB07, FAB08).

Judged like the pods of a workflow (`checks/security.py`), by the same rules of Pod Security.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.objects import name, namespace
from bayplan.kube.pod_security import BASELINE, PRIVILEGED, RESTRICTED, Breach, added, as_root, breaches
from bayplan.kube.safe import get, text
from bayplan.kube.templates import PodTemplate, containers
from bayplan.linting.networks.devices import LOCK, needy, verbs
from bayplan.linting.networks.scene import Scene
from bayplan.linting.world import World

ENFORCED = ("metadata", "labels", "pod-security.kubernetes.io/enforce")
OPENSHIFT = "openshift"


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M858 to M860, of pods that ask for networks or for RDMA devices."""
    rdma = verbs(world, known)
    asking = {each.template.route for each in known.asking}
    for template in world.templates:
        found = list(containers(template))
        if template.route in asking or any(needy(container, rdma) for _, container in found):
            yield from _level(template, world)
            yield from _openshift(template, world)
        for route, container in found:
            if needy(container, rdma) and LOCK in added(container) and not as_root(template.spec, container):
                message = f"the container does not run as root, so {LOCK} is of no use to it, and it may lock 8 MiB"
                hint = "raise LimitMEMLOCK of the container runtime on the nodes, and say so: `memlock: unlimited`"
                yield warning("M860", route, message, hint=hint)


def level(world: World, where: str) -> str:
    """The Pod Security level of a namespace: as its object among the manifests says, or else the topology."""
    known = world.topology.namespaces.get(where)
    own = (text(each.data, *ENFORCED) for each in world.of("", "Namespace") if name(each) == where)
    return next(filter(None, own), known.pod_security if known else PRIVILEGED)


def _level(template: PodTemplate, world: World) -> Iterator[Diagnostic]:
    where = namespace(template.object)
    asked = level(world, where)
    found = list(dict.fromkeys(breaches(template.spec, asked))) if asked in (BASELINE, RESTRICTED) else []
    for each in found:
        if not each.lacking:
            message = f'namespace "{where}" is {asked}, and that refuses {each.what}'
            hint = f"label the namespace {ENFORCED[-1]}: privileged, or run in another namespace"
            yield error("M858", _place(template, each), message, hint=hint)
    lacking = list(dict.fromkeys(each.what for each in found if each.lacking))
    if lacking:
        message = f'namespace "{where}" is {asked}, and that wants said: {", ".join(lacking)}'
        yield error("M858", template.spec_route, message, hint="write it into `securityContext` of each container")


def _place(template: PodTemplate, each: Breach) -> Route:
    return (*template.spec_route, *each.path)


def _openshift(template: PodTemplate, world: World) -> Iterator[Diagnostic]:
    """M859: restricted-v2, the SCC that all may use, refuses what `baseline` refuses."""
    found = list(dict.fromkeys(breaches(template.spec, BASELINE))) if world.topology.platform == OPENSHIFT else []
    if not found:
        return
    known = world.topology.namespaces.get(namespace(template.object))
    what = ", ".join(dict.fromkeys(each.what for each in found))
    own = text(template.spec, "serviceAccountName")
    if known is None or not known.scc or not known.service_account:
        message = f"OpenShift's restricted-v2 refuses {what}"
        hint = "make a SecurityContextConstraints that allows it, and name it with its service account in the topology"
        yield error("M859", _place(template, found[0]), message, hint=hint)
    elif own != known.service_account:
        message = f'the pod runs as the service account "{own or "default"}", and OpenShift refuses {what} to it'
        hint = f'write `serviceAccountName: {known.service_account}`, which the SCC "{known.scc}" is for'
        here = ("serviceAccountName",) if get(template.spec, "serviceAccountName") is not None else ()
        yield error("M859", (*template.spec_route, *here), message, hint=hint)
