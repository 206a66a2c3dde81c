"""The rule that a constraint keeps the pods of a ComputeDomain in one NVLink domain. A ComputeDomain places no pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.core.phrases import count
from bayplan.kube.objects import api_group, get, items, mapping, namespace, text, title
from bayplan.kube.templates import GROVE, PodTemplate
from bayplan.linting.claims import claimants, domains
from bayplan.linting.objects import LintContext
from bayplan.linting.schedulers import DEFAULT, scheduler_of
from bayplan.linting.workloads import AFFINITY, exclusive
from bayplan.model.manifest import Object
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool

Colocation = tuple[object, ...]
"""The object that keeps pods together, and last the label of the domain. Pods with equal values share a domain."""

KAI_GROUP, KAI_SUBGROUP = "pod-group-name", "kai.scheduler/subgroup-name"
KUEUE_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
KUEUE_GROUP = "kueue.x-k8s.io/podset-group-name"
KUEUE_SLICES = "kueue.x-k8s.io/podset-slice-"


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M808: ComputeDomains whose pods may be in several NVLink domains."""
    labels = nvlink_labels(context.topology)
    claims_of = claimants(context)
    for domain in domains(context) if labels else ():
        yield from _domain(domain, claims_of.get(domain.route, []), labels, context)


def nvlink_labels(topology: ClusterTopology) -> frozenset[str]:
    """Labels of the levels whose domains are inside one NVLink domain; empty if the cluster has only one."""
    labels: set[str] = set()
    for pool in _nvlink_pools(topology):
        depth = next(n for n, level in enumerate(pool.levels) if level.nvlink)
        labels |= {HOSTNAME_LABEL, *(level.label for level in pool.levels[depth:])}
    return frozenset(labels) if sum(len(_sizes(pool)) for pool in _nvlink_pools(topology)) > 1 else frozenset()


def _nvlink_pools(topology: ClusterTopology) -> list[Pool]:
    return [pool for pool in topology.pools if any(level.nvlink for level in pool.levels)]


def _sizes(pool: Pool) -> dict[tuple[str, ...], int]:
    """Path of each NVLink domain -> its number of nodes."""
    depth = next(n for n, level in enumerate(pool.levels) if level.nvlink)
    sizes: dict[tuple[str, ...], int] = {}
    for domain in pool.domains:
        sizes[domain.path[: depth + 1]] = sizes.get(domain.path[: depth + 1], 0) + len(domain.nodes)
    return sizes


def _domain(
    domain: Object, claimants: Sequence[PodTemplate], labels: frozenset[str], context: LintContext
) -> Iterator[Diagnostic]:
    pods = [each.pods for each in claimants]
    total = sum(each or 0 for each in pods)
    sizes = [size for pool in _nvlink_pools(context.topology) for size in _sizes(pool).values()]
    if not claimants or (total < 2 and None not in pods):
        return
    route = (*domain.route, "metadata", "name")
    if total > sum(sizes):
        message = f"{title(domain)} needs one node for each of {count(total, 'pod')}, but the topology has only "
        message += f"{count(sum(sizes), 'node')} in NVLink domains"
        yield error("M808", route, message, hint="lower the number of pods")
    else:
        yield from _unconstrained(domain, claimants, labels, context, max(sizes) if total > max(sizes) else 0)


def _unconstrained(
    domain: Object, claimants: Sequence[PodTemplate], labels: frozenset[str], context: LintContext, largest: int
) -> Iterator[Diagnostic]:
    """M808: no common constraint keeps the pods in one domain.

    `largest` is the number of nodes of the largest domain if the pods are more, otherwise 0. Such pods may be in
    several domains if a constraint keeps each of their groups in one.
    """
    constraints = [own for each in claimants if (own := colocations(each, context)) is not None]
    if len(constraints) < len(claimants):
        return
    each_constrained = all(any(constraint[-1] in labels for constraint in each) for each in constraints)
    common = frozenset.intersection(*constraints)
    if largest and not each_constrained:
        total = count(sum(each.pods or 0 for each in claimants), "pod")
        message = f"{title(domain)} has {total}, but the largest NVLink domain has only {count(largest, 'node')}"
        hint = "create one ComputeDomain for each NVLink domain: NVLink ends at its border"
        yield warning("M808", (*domain.route, "metadata", "name"), message, hint=hint)
    elif not largest and not any(constraint[-1] in labels for constraint in common):
        message = f"no constraint keeps the pods of {title(domain)} in one NVLink domain"
        hint = f"require {_level_labels(context.topology)} for their group: a scheduler may ignore a preferred level"
        yield warning("M808", (*domain.route, "metadata", "name"), message, hint=hint)


def _level_labels(topology: ClusterTopology) -> str:
    return " or ".join(dict.fromkeys(f'"{lv.label}"' for p in _nvlink_pools(topology) for lv in p.levels if lv.nvlink))


def colocations(template: PodTemplate, context: LintContext) -> frozenset[Colocation] | None:
    """The constraints that keep pods of a template together; None if bayplan cannot read those of the scheduler."""
    constraints: set[Colocation] = {("node", label, value, label) for label, value in _nodes(template)}
    for each in items(template.spec, "affinity", "podAffinity", AFFINITY):
        constraints.add(("affinity", _selector_key(mapping(each, "labelSelector")), text(each, "topologyKey")))
    if any(exclusive(template)) or any(key.startswith(KUEUE_SLICES) for key in template.annotations):
        return None
    if text(template.annotations, KUEUE_REQUIRED):
        joined = text(template.annotations, KUEUE_GROUP)
        pod_set = (template.object.route, joined) if joined else (template.route, "")
        constraints.add(("kueue", pod_set, text(template.annotations, KUEUE_REQUIRED)))
    if scheduler_of(template) == context.topology.scheduler_name("kai", "kai-scheduler"):
        kai = _kai_constraints(template, context)
        return None if kai is None else frozenset(constraints | kai)
    return (
        frozenset(constraints)
        if scheduler_of(template) == DEFAULT and not get(template.spec, "schedulingGroup")
        else None
    )


def _selector_key(selector: Mapping[str, object]) -> str:
    """A string that is equal for equal selectors."""
    return repr(sorted((key, repr(value)) for key, value in selector.items()))


def _nodes(template: PodTemplate) -> Iterator[tuple[str, str]]:
    for label, value in mapping(template.spec, "nodeSelector").items():
        yield label, str(value)
    terms = items(template.spec, "affinity", "nodeAffinity", AFFINITY, "nodeSelectorTerms")
    for each in items(terms, 0, "matchExpressions") if len(terms) == 1 else ():
        if text(each, "operator") == "In" and len(items(each, "values")) == 1:
            yield text(each, "key"), str(items(each, "values")[0])


def _grove_constraints(template: PodTemplate, context: LintContext) -> Iterator[Colocation]:
    """The required levels of the clique, its scaling group and the set. Each replica of these is in one domain."""
    from bayplan.kube import grove  # few manifests have its kinds

    data = template.object.data
    levels = grove.domains(grove.topology_of(data), context.objects, context.topology)
    clique = next((each for each in grove.layout(data).cliques if each.path == template.path), None)
    keys = (grove.clique_key(clique.name), grove.group_key(clique.group), grove.CONSTRAINT) if clique else ()
    for key in keys:
        if level := grove.required(get(data, "spec", key)):
            yield "grove", template.object.route, key, levels.get(level, level)


def _kai_constraints(template: PodTemplate, context: LintContext) -> set[Colocation] | None:
    """The constraints of the PodGroup and of the pods' subgroups; without a PodGroup, the workload's annotation."""
    if (api_group(template.object.data), text(template.object.data, "kind")) in GROVE:
        return set(_grove_constraints(template, context))
    pod_group = text(template.annotations, KAI_GROUP)
    if not pod_group:
        level = text(template.object.data, "metadata", "annotations", "kai.scheduler/topology-required-placement")
        return {("kai", template.object.route, level)} if level else set()
    where = namespace(template.object)
    groups = context.find("scheduling.run.ai", "PodGroup", pod_group, where)
    if not groups:
        return None
    spec = get(groups[0].data, "spec")
    constraints: set[Colocation] = {("kai", pod_group, "", text(spec, "topologyConstraint", "requiredTopologyLevel"))}
    subgroups = {text(each, "name"): each for each in items(spec, "subGroups")}
    subgroup, visited = text(template.labels, KAI_SUBGROUP), set[str]()
    while subgroup in subgroups and subgroup not in visited:
        visited.add(subgroup)
        level = text(subgroups[subgroup], "topologyConstraint", "requiredTopologyLevel")
        constraints.add(("kai", pod_group, subgroup, level))
        subgroup = text(subgroups[subgroup], "parent")
    return {(*constraint[:-1], _unaliased(str(constraint[-1]), context)) for constraint in constraints}


def _unaliased(level: str, context: LintContext) -> str:
    """The node label of a level that may be an alias of a KAI Topology."""
    for one in context.of("kai.scheduler", "Topology"):
        for each in items(one.data, "spec", "levels"):
            if level and text(each, "alias") == level:
                return text(each, "nodeLabel")
    return level
