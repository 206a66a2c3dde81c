"""Rules for workloads and their pods: JobSets, node labels, HAMi's cards, and values that the API server refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import did_you_mean, listing, shorten
from bayplan.kube import validation
from bayplan.kube.objects import api_group, get, items, mapping, name, named, number_in, text, title
from bayplan.kube.templates import PodTemplate, containers
from bayplan.kube.variables import broken_variables
from bayplan.linting.claims import allowed_pools
from bayplan.linting.objects import LintContext, grouped
from bayplan.linting.schedulers import DEFAULT, known_names, scheduler_of
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology

if TYPE_CHECKING:
    from bayplan.accelerators.hami_rules import HamiPod

NAME_LIMIT = 63
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
EXCLUSIVE = {
    "jobset.x-k8s.io": "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.x-k8s.io": "leaderworkerset.sigs.k8s.io/exclusive-topology",
}
"""API group -> the annotation that gives each Job or group its own domain by affinity (JobSet 0.12, LWS 0.9)."""


def check_jobsets(context: LintContext) -> Iterator[Diagnostic]:
    """M703: names, failure policies and exclusive placement."""
    for one in context.of("jobset.x-k8s.io", "JobSet"):
        yield from _long_names(one)
        yield from _unnamed_rules(one)
    for template in context.templates:
        yield from _exclusive(template, context.topology)


def _long_names(one: Object) -> Iterator[Diagnostic]:
    """`<jobset>-<replicatedJob>-<job>-<index>-<5 letters>` (JobSet 0.12, pkg/webhooks/jobset_webhook.go)."""
    if name(one) and not DNS_1035.fullmatch(name(one)[:NAME_LIMIT].rstrip("-") or "-"):
        message = f'"{shorten(name(one))}" is not a valid name of a JobSet, because its Jobs and Service begin with it'
        hint = "begin with a lower-case letter, and use only lower-case letters, digits and hyphens"
        yield error("M703", named(one), message, hint=hint)
    for index, each in enumerate(items(one.data, "spec", "replicatedJobs")):
        job, copies = text(each, "name"), number_in(each, "replicas")
        pods = number_in(each, "template", "spec", "completions") or number_in(each, "template", "spec", "parallelism")
        indexed = get(each, "template", "spec", "completionMode") != "NonIndexed"
        stem = f"{name(one)}-{job}-{max(0, (1 if copies is None else copies) - 1)}"
        longest = f"{stem}-{max(0, (pods or 1) - 1)}-xxxxx" if indexed else stem
        if job and name(one) and len(longest) > NAME_LIMIT:
            what = "pod" if indexed else "Job"
            message = f'the {what} name "{longest}" of replicatedJob "{shorten(job)}" has {len(longest)} characters, '
            message += f"but at most {NAME_LIMIT} are allowed"
            hint = f"shorten the names of the JobSet and the replicatedJob by {len(longest) - NAME_LIMIT}"
            yield error("M703", (*one.route, "spec", "replicatedJobs", index, "name"), message, hint=hint)


def _unnamed_rules(one: Object) -> Iterator[Diagnostic]:
    """M703: the CRD requires a name, and JobSet's webhook adds it. Validators without the webhook refuse the object."""
    for index, each in enumerate(items(one.data, "spec", "failurePolicy", "rules")):
        if get(each, "name") is None:
            route: Route = (*one.route, "spec", "failurePolicy", "rules", index)
            message = "this rule of the failure policy has no name, which the CRD requires"
            hint = "add `name:`; JobSet's webhook adds one, but validators refuse the JobSet"
            yield info("M703", route, message, hint=hint)


def _exclusive(template: PodTemplate, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M706: an affinity for schedulers without levels, on pods of a scheduler that places them by levels."""
    for route, label in exclusive(template):
        if other := _other_scheduler(template, topology):
            message = f'the annotation gives each Job its own "{label}", but {other} places the same pods by levels'
            hint = "remove the annotation, or give the pods to the default scheduler"
            yield error("M706", route, message, hint=hint)


def exclusive(template: PodTemplate) -> Iterator[tuple[Route, str]]:
    """The annotations for exclusive placement of the workload and of the replicatedJob, with their routes."""
    key = EXCLUSIVE.get(api_group(template.object.data), "")
    for path in ((), template.path[:4]) if key else ():
        label = text(template.object.data, *path, "metadata", "annotations", key)
        if label:
            yield (*template.object.route, *path, "metadata", "annotations", key), label


def _other_scheduler(template: PodTemplate, topology: ClusterTopology) -> str:
    """The scheduler that places the pods by levels; empty for the default one, for Kueue, which has its own rules, and
    for one that bayplan does not know."""
    scheduler = scheduler_of(template)
    return f'the scheduler "{scheduler}"' if scheduler != DEFAULT and scheduler in known_names(topology) else ""


# Node labels that pods require, compared with the labels of the topology's nodes.

WELL_KNOWN = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname")
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
LevelValues = Mapping[str, frozenset[str] | None]


def check_labels(context: LintContext) -> Iterator[Diagnostic]:
    """M712: labels and values that no node has. The topology knows all values only for the labels of levels."""
    levels = context.labels()
    if not any(pool.domains for pool in context.topology.pools):
        return
    reported: set[Route] = set()
    for template in context.templates:
        yield from _node_selector(template, levels)
        yield from _node_affinity(template, levels)
        for route, label in _topology_keys(template):
            if route not in reported and label not in levels and label not in WELL_KNOWN:
                reported.add(route)
                yield _unknown(route, label, levels)


def _unknown(route: Route, label: str, levels: LevelValues) -> Diagnostic:
    near = did_you_mean(label, levels)
    message = f'"{label}" is not the label of a level of the topology'
    if near:
        return warning("M712", route, message, hint=near)
    return info("M712", route, message, hint="check that your nodes have it: a node without it is in no domain")


def _node_selector(template: PodTemplate, levels: LevelValues) -> Iterator[Diagnostic]:
    for label, value in mapping(template.spec, "nodeSelector").items():
        values = levels.get(label)
        if isinstance(value, str) and values is not None and value not in values:
            yield _no_such_node((*template.spec_route, "nodeSelector", label), label, [value], levels)


def _node_affinity(template: PodTemplate, levels: LevelValues) -> Iterator[Diagnostic]:
    """M712 only if no node satisfies any of the terms, because they are alternatives."""
    path = ("affinity", "nodeAffinity", AFFINITY, "nodeSelectorTerms")
    terms = items(template.spec, *path)
    wrong = [_impossible(term, levels) for term in terms]
    for index, expressions in enumerate(wrong if all(wrong) else ()):
        for number, values in expressions[:1]:
            label = text(terms[index], "matchExpressions", number, "key")
            route = (*template.spec_route, *path, index, "matchExpressions", number, "values")
            yield _no_such_node(route, label, values, levels)


def _impossible(term: object, levels: LevelValues) -> list[tuple[int, Sequence[str]]]:
    """The expressions of a term that no node satisfies."""
    expressions: list[tuple[int, Sequence[str]]] = []
    for number, each in enumerate(items(term, "matchExpressions")):
        present, values = levels.get(text(each, "key")), [str(value) for value in items(each, "values")]
        if get(each, "operator") == "In" and present is not None and values and not present.intersection(values):
            expressions.append((number, values))
    return expressions


def _no_such_node(route: Route, label: str, values: Sequence[str], levels: LevelValues) -> Diagnostic:
    near = did_you_mean(values[0], levels[label] or ())
    message = f'no node of the topology has the label "{label}" with the value {listing(values, most=3)}'
    if near:
        return error("M712", route, message, hint=near)
    return warning(
        "M712", route, message, hint="correct the value, unless the cluster has nodes outside the topology file"
    )


def _topology_keys(template: PodTemplate) -> Iterator[tuple[Route, str]]:
    """The labels of domains in required affinities, in hard spread constraints and in exclusive placement."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for index, each in enumerate(items(template.spec, "affinity", kind, AFFINITY)):
            if text(each, "topologyKey"):
                route = (*template.spec_route, "affinity", kind, AFFINITY, index, "topologyKey")
                yield route, text(each, "topologyKey")
    for index, each in enumerate(items(template.spec, "topologySpreadConstraints")):
        if text(each, "topologyKey") and get(each, "whenUnsatisfiable") != "ScheduleAnyway":
            yield (*template.spec_route, "topologySpreadConstraints", index, "topologyKey"), text(each, "topologyKey")
    yield from exclusive(template)


# Addresses of pods.

ADDRESS = re.compile(r"([a-z0-9][-a-z0-9]*)\.([a-z0-9][-a-z0-9]*)(?:[.:].*)?")
SUBDOMAINS = (("", "Service"), ("jobset.x-k8s.io", "JobSet"), ("batch.volcano.sh", "Job"))
"""Objects that give their pods a subdomain, which is their name by default."""


def check_addresses(context: LintContext) -> Iterator[Diagnostic]:
    """M718: a host name of pods whose Service or workload somebody renamed. kustomize does not change values."""
    names = {name(one) for one in context.among(SUBDOMAINS)}
    renamed = {part: whole for whole in sorted(names) for part in _affixes(whole) if part not in names}
    reported: set[tuple[Route, str]] = set()
    for template in context.templates if renamed else ():
        for path, container in containers(template):
            for number, entry in enumerate(items(container, "env")):
                match = ADDRESS.fullmatch(text(entry, "value"))
                old = match[2] if match and match[1].startswith(f"{match[2]}-") else ""
                if old in renamed and (template.object.route, old) not in reported:
                    reported.add((template.object.route, old))
                    message = f'{shorten(text(entry, "name"))} names a pod of "{old}", which is now "{renamed[old]}"'
                    hint = "list ExpandWorkflows in the outermost kustomization, which then renders with the new name"
                    yield error("M718", (*path, "env", number, "value"), message, hint=hint)


def _affixes(whole: str) -> Iterator[str]:
    """What may have been the name before somebody added a prefix or a suffix."""
    for dash in re.finditer("-", whole):
        yield from (whole[: dash.start()], whole[dash.end() :])


def check_refused(context: LintContext) -> Iterator[Diagnostic]:
    """W571 (rule TX02), W598 (rule TX01)."""
    for template in context.templates:
        for label in validation.labels(template.labels):
            yield error("W598", (*template.route, "metadata", "labels", *label.path), label.message, hint=label.hint)
        for each in validation.references(template.spec):
            yield error("W598", (*template.spec_route, *each.path), each.message, hint=each.hint)
        yield from _rdma_mounts(template)


RDMA = "/dev/infiniband"


def _rdma_mounts(template: PodTemplate) -> Iterator[Diagnostic]:
    """W571: a mount of the node's RDMA device folder."""
    paths = {text(each, "name"): text(each, "hostPath", "path") for each in items(template.spec, "volumes")}
    for route, container in containers(template):
        for number, mount in enumerate(items(container, "volumeMounts")):
            path = paths.get(text(mount, "name"), "")
            if path == RDMA or path.startswith(f"{RDMA}/"):
                message = (
                    f'the container mounts "{path}" of the node, but only a privileged container can open the devices'
                )
                hint = (
                    "remove the mount, and request the resource of an RDMA device plugin, with the capability IPC_LOCK"
                )
                yield info("W571", (*route, "volumeMounts", number), message, hint=hint)


# Volcano Jobs and AppWrappers of TorchX: role names that a shell does not accept in variables.


def check_torchx(context: LintContext) -> Iterator[Diagnostic]:
    """W573 (rule TX01): variables that no shell accepts."""
    for template in context.templates:
        yield from broken_variables(template)


# Pods that request HAMi's cards: values that its webhook refuses, misreads or ignores.

CODES: Mapping[str, str] = {
    "privileged": "M870",
    "node": "M870",
    "scheduler": "M870",
    "policy": "M873",
    "idle": "M873",
    "twice": "M876",
    "amount": "M876",
    "chip": "M876",
    "unknown": "M876",
    "choice": "M873",
    "half": "M873",
}
"""Rule family (`accelerators/hami_rules.py`) -> code."""


def check_hami(context: LintContext) -> Iterator[Diagnostic]:
    """M815, M870 to M876: requests and annotations of pods with HAMi's cards."""
    for template in context.templates:
        yield from _hami(template, context)
    owned = grouped(lambda each: each.object.route, (each for each in context.templates if each.owned))
    for one in context.objects:
        notes = mapping(one.data, "metadata", "annotations")
        below = owned.get(one.route, ())
        for key in POLICIES:
            if key in notes and below and not any(key in each.annotations for each in below):
                message = f"HAMi ignores {key} on {title(one)}: it reads this annotation only on pods"
                route = (*one.route, "metadata", "annotations", key)
                yield warning("M815", route, message, hint="move it to the pod template")


POLICIES = ("hami.io/node-scheduler-policy", "hami.io/gpu-scheduler-policy", "hami.io/device-scoring-weights")
"""Annotations that often are on a Job or a Deployment by mistake (HAMi#882)."""


def _hami(template: PodTemplate, context: LintContext) -> Iterator[Diagnostic]:
    from bayplan.accelerators.hami_rules import faults, hami_pod

    kinds = context.topology.accelerators
    pools = {pool.node.accelerator for pool in allowed_pools(template, context.topology)}
    pod = hami_pod(template.data, [kinds[name] for name in kinds if name in pools or not pools], context.target)
    for each in faults(pod):
        if each.rule == "choice" and _whole_node(pod, context):
            continue  # a pod that takes all cards of a node has their links too
        yield Diagnostic(CODES[each.rule], each.severity, each.message, (*template.route, *each.path), hint=each.hint)
    for ask in pod.asks:
        most = _largest_node(ask.names.cards, context)
        if most is not None and ask.cards > most:
            message = f"the pod requests {ask.cards} cards ({ask.names.cards}), but no node has more than {most}"
            hint = "request fewer cards in one pod, and use more pods"
            yield error("M876", (*template.route, *ask.place), message, hint=hint)


def _whole_node(pod: HamiPod, context: LintContext) -> bool:
    """Whether the pod requests as many cards of a kind as any node has."""
    most = ((ask.cards, _largest_node(ask.names.cards, context)) for ask in pod.asks)
    return any(known is not None and cards >= known for cards, known in most)


def _largest_node(resource: str, context: LintContext) -> int | None:
    """The most cards of a resource that a node has; None if the topology does not know the resource."""
    kinds = context.topology.accelerators
    own = {name for name, kind in kinds.items() if kind.count_resource == resource}
    pools = [pool.node.accelerators for pool in context.topology.pools if pool.node.accelerator in own]
    return max(pools, default=None)
