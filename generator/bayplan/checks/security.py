"""What pods may do, compared with what their namespace allows: Pod Security levels, OpenShift's SCCs, memory locks.

The checks look at the whole pod template of a podSet: what bayplan generates, what a fabric adds, and what the
templates of the pool and the podSet change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan import fabrics
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.fabrics import LOCK, FabricRequest, pins
from bayplan.fabrics.cards import lock
from bayplan.kube.objects import text
from bayplan.kube.pod import MERGE_KEYS, combine, field_of, own_parts, template, written
from bayplan.kube.pod_security import BASELINE, PRIVILEGED, Breach, added, as_root, breaches, containers, security
from bayplan.model.manifest import PodParts
from bayplan.model.topology import ClusterTopology, Namespace, Pool
from bayplan.model.workflow import Place, Workflow, pod_sets
from bayplan.planning.pools import pools_of

OPENSHIFT = "openshift"
LABEL = "pod-security.kubernetes.io/enforce: privileged"
MAIN = ("containers", 0)
"""The path of the generated container, which is the first one."""


class Pod(NamedTuple):
    """A podSet, what it requests of its fabric, and its pod's spec."""

    place: Place
    pool: Pool
    number: int  # of the pool
    fabric_request: FabricRequest | None
    parts: PodParts  # of the fabric, or of cards in `resources`
    spec: Mapping[str, Any]

    @property
    def title(self) -> str:
        """For messages."""
        return f'podSet "{self.place.pods.name}"'


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W630 to W636."""
    name = workflow.namespace or topology.defaults.get("namespace", "")
    namespace = topology.namespaces.get(name)
    strict = namespace is not None and namespace.pod_security not in ("", PRIVILEGED)
    every = strict or any(pool.template for pool in topology.pools)
    every = every or topology.platform == OPENSHIFT
    judged = [place for place in pod_sets(workflow) if every or place.pods.fabric or place.pods.template]
    if not judged:
        return
    for pod in _pods(workflow, topology, judged, name):
        yield from _locked(pod)
        yield from _memory(pod)
        if namespace is not None and strict:
            yield from _level(pod, namespace)
        if topology.platform == OPENSHIFT:
            yield from _openshift(pod, name, namespace)


def _pods(workflow: Workflow, topology: ClusterTopology, judged: list[Place], namespace: str) -> Iterator[Pod]:
    pools = pools_of(workflow, topology)
    for place in judged:
        name = pools.get(place.route)
        number = next((n for n, pool in enumerate(topology.pools) if pool.name == name), None)
        if number is not None and _mergeable(place.pods.template) and _mergeable(topology.pools[number].template):
            pool = topology.pools[number]
            fabric_request = fabrics.fabric_request(place.pods, topology, namespace, pool.name)
            parts = lock(place.pods, topology)
            if fabric_request:
                from bayplan.fabrics import kinds  # only where a podSet has a fabric

                parts = kinds.parts(fabric_request)
            all_parts = combine(own_parts(place.pods, pool, "files"), parts)
            spec = template(place.pods, pool, all_parts, place.pods.command)["spec"]
            yield Pod(place, pool, number, fabric_request, parts, spec)


def _mergeable(patch: Mapping[str, Any]) -> bool:
    """Whether a template is well formed. `templates.py` reports what is wrong with others."""
    spec = patch.get("spec") or {}
    if not isinstance(spec, Mapping):
        return False
    lists = {key: value for key, value in spec.items() if key in MERGE_KEYS}
    return all(isinstance(v, list) and all(isinstance(e, Mapping) for e in v) for v in lists.values() if v is not None)


def _locked(pod: Pod) -> Iterator[Diagnostic]:
    """W636: a template removes the capability to pin memory, which RDMA needs."""
    if pod.fabric_request is None or LOCK not in pod.parts.capabilities:
        return
    for path, container in containers(pod.spec):
        if path == MAIN and LOCK not in added(container) and not security(container).get("privileged"):
            message = f"{pod.title}: its template replaces the capabilities and removes {LOCK}, which RDMA needs"
            hint = f"add {LOCK} to `capabilities.add` of the template: Kubernetes does not merge lists of capabilities"
            yield error("W636", _route(pod, (*path, "securityContext")), message, hint=hint)


def _memory(pod: Pod) -> Iterator[Diagnostic]:
    """W631: without root the capability has no effect (nvidia-container-toolkit#2037)."""
    if pod.fabric_request is None or not pins(pod.fabric_request) or pod.fabric_request.fabric.memlock == "unlimited":
        return
    for path, container in containers(pod.spec):
        if path == MAIN and not as_root(pod.spec, container):
            message = f"{pod.title} does not run as root, so {LOCK} has no effect, and it may lock only 8 MiB of memory"
            hint = (
                "raise LimitMEMLOCK of the container runtime on the nodes, and set `memlock: unlimited` on the fabric"
            )
            own = {"runAsUser", "runAsNonRoot"} & set(security(container))
            at = (*path, "securityContext") if own else ("securityContext",)
            yield warning("W631", _route(pod, at), message, hint=hint)


def _level(pod: Pod, namespace: Namespace) -> Iterator[Diagnostic]:
    """W630, W633: what the namespace's Pod Security level refuses."""
    level = namespace.pod_security
    refused = list(dict.fromkeys(breaches(pod.spec, level)))
    where = Note("the namespace is here", ("topology", "spec", "namespaces", namespace.name))
    for each in refused:
        if each.lacking:
            continue
        fabric = _by_fabric(pod, each)
        code = "W630" if fabric else "W633"
        route = _cards(pod) if fabric else _route(pod, each.path)
        message = (
            f'{pod.title}: namespace "{namespace.name}" has the Pod Security level {level}, which refuses {each.what}'
        )
        hint = f"label the namespace {LABEL} and update the topology, or use another namespace"
        hint += ", or set `fabric: none`" if fabric and pod.fabric_request else ""
        yield error(code, route, message, hint=hint, notes=(where,))
    lacking = list(dict.fromkeys(each.what for each in refused if each.lacking))
    if lacking:
        missing = ", ".join(lacking)
        message = (
            f'{pod.title}: namespace "{namespace.name}" has the Pod Security level {level}, which requires {missing}'
        )
        hint = f"add to `template`: spec: {{containers: [{{securityContext: {{{missing}}}}}]}}"
        yield error("W633", (*pod.place.route, "name"), message, hint=hint, notes=(where,))


def _by_fabric(pod: Pod, each: Breach) -> bool:
    """Whether the fabric, or a card in `resources`, adds it, not a template."""
    if each.path[-1] == "add":
        return any(each.what.endswith(f" {name}") for name in pod.parts.capabilities)
    if each.path[-1] == "privileged":
        return pod.parts.privileged
    return each.path[0] in pod.parts.spec


def _cards(pod: Pod) -> Route:
    """The field that requests the cards."""
    return (*pod.place.route, "fabric" if pod.fabric_request else "resources")


def _openshift(pod: Pod, name: str, namespace: Namespace | None) -> Iterator[Diagnostic]:
    """W632: what restricted-v2 refuses needs another SCC, bound to the pods' service account."""
    refused = [each for each in dict.fromkeys(breaches(pod.spec, BASELINE)) if not each.lacking]
    if not refused:
        return
    route = _cards(pod) if _by_fabric(pod, refused[0]) else _route(pod, refused[0].path)
    what = ", ".join(dict.fromkeys(each.what for each in refused))
    scc, account = (namespace.scc, namespace.service_account) if namespace else ("", "")
    if not scc or not account:
        message = f"{pod.title}: OpenShift's default SCC, restricted-v2, refuses {what}"
        entry = f"namespaces: {{{name or 'NAME'}: {{scc: NAME, serviceAccount: NAME}}}}"
        hint = f"create an SCC that allows it, and add it and its service account to the topology: `{entry}`"
        yield error("W632", route, message, hint=hint)
        return
    own = text(pod.spec, "serviceAccountName") or account
    if own != account:
        message = f'{pod.title}: OpenShift refuses {what} to the service account "{own}"'
        hint = f'remove `serviceAccountName`: bayplan sets "{account}", which has the SCC "{scc}"'
        yield error("W632", _route(pod, ("serviceAccountName",)), message, hint=hint)
        return
    message = f'{pod.title}: the SCC "{scc}" must allow {what}, and be bound to the service account "{account}"'
    hint = f"bind it: oc adm policy add-scc-to-user {scc} -z {account} -n {name}"
    yield info("W632", route, message, hint=hint)


def _route(pod: Pod, path: tuple[str | int, ...]) -> Route:
    """The place in a template that sets a part of the pod's spec; the podSet if none does."""
    pool: Route = ("topology", "spec", "pools", pod.number, "template")
    own = _deepest(written(pod.place.pods).get("spec"), path, pod.spec)
    if len(own) == len(path) and (field := field_of(pod.place.pods, own)):
        return (*pod.place.route, *field)
    for patch, route in ((pod.place.pods.template, (*pod.place.route, "template")), (pod.pool.template, pool)):
        part = _deepest(patch.get("spec"), path, pod.spec)
        if part:
            return (*route, "spec", *part)
    return (*pod.place.route, "name")


def _deepest(patch: Any, path: tuple[str | int, ...], generated: Any) -> tuple[str | int, ...]:
    """The part of a path in the merged spec that a patch has too. Entries of lists match by their names."""
    steps: list[str | int] = []
    for step in path:
        if isinstance(step, str) and isinstance(patch, Mapping) and step in patch:
            patch, generated = patch[step], generated.get(step) if isinstance(generated, Mapping) else None
            steps.append(step)
        elif isinstance(step, int) and isinstance(patch, list) and isinstance(generated, list):
            number = _entry(patch, generated[step], step)
            if number is None:
                break
            patch, generated = patch[number], generated[step]
            steps.append(number)
        else:
            break
    return tuple(steps)


def _entry(patch: list[Any], generated: Any, step: int) -> int | None:
    """The entry of a patch that a merged entry comes from. One without a name is the main container."""
    name = generated.get("name") if isinstance(generated, Mapping) else None
    for number, each in enumerate(patch):
        if isinstance(each, Mapping) and each.get("name", name if step == 0 else None) == name:
            return number
    return None
