"""PodCliqueSet (`grove.io/v1alpha1`): a clique for each podSet, and a scaling group for each group of several pods.

Grove makes the headless Service of each copy, the pods and, through KAI, their PodGroups. Read from Grove
v0.1.0-alpha.10 to alpha.12-rc1: operator/api/common/namegen.go, internal/controller/podclique/components/pod/pod.go,
internal/webhook/admission/pcs/validation. `ready-ranks`: `computeMinAvailableBreachedCondition` in
internal/controller/podclique/reconcilestatus.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.kube.grove import API_VERSION, CONSTRAINT, clique_key, group_key
from bayplan.kube.kinds import NO_JOBS, READY_RANKS, Piece, apart, autoscaler, instances, meta
from bayplan.kube.objects import mapping, non_empty
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, approximate, never, not_yet_here
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods, Unit, Units, all_pods

TITLE = "PodCliqueSet"
SERVICE = False
COPY_LABEL = "grove.io/podcliquescalinggroup-replica-index"
INDEX = "metadata.labels['grove.io/podclique-pod-index']"
INDEX_VARIABLE = "GROVE_PCLQ_POD_INDEX"
COPY_VARIABLE = "GROVE_PCSG_INDEX"
SET_VARIABLE = "GANG_INDEX"
WHOLE = False
FIELDS: Mapping[str, str] = {SET_VARIABLE: "metadata.labels['grove.io/podcliqueset-replica-index']"}
"""Grove's own GROVE_PCS_INDEX comes after the variables of the pod template up to alpha.12 (AddEnvVarsToContainers in
internal/controller/podclique/components/pod/pod.go), and a value can only refer to variables before it."""

LONGEST_NAMES = 45
"""Characters that the names of a set, a scaling group and a clique have together (maxCombinedResourceNameLength)."""

SUPPORT = (
    Support("starts-after"),
    *NO_JOBS,
    approximate(
        "autoscale",
        "Grove makes no copies without `replicas`, so each `kubectl apply` sets their number back",
        "ignore this if the autoscaler may start again from there",
        report="info",
    ),
    approximate(
        "rollout",
        "Grove replaces one copy after another and ignores `unavailable`",
        "remove `rollout`",
        report="info",
    ),
    apart(TITLE),
    approximate(
        "new-versions",
        "Grove replaces the pods of a clique, and the replicas of a scaling group, one after another, and ranks of two"
        " versions cannot work together, so bayplan writes `updateStrategy: OnDelete`",
        "ignore this if you delete the pods of a copy together after each change, or if groups with ranks of their own"
        " have `rendezvous: group`",
        report="info",
    ),
    approximate(
        "ready-ranks",
        "Grove deletes a copy of which fewer pods than `minAvailable` have been ready for 4 hours, as when the"
        " `readinessProbe` fails on other ranks than 0",
        READY_RANKS,
        report="warning",
    ),
    never("depends-on", "nothing makes it wait for another workload", "wait in an init container"),
    Support("separate-ranks"),
    not_yet_here("barrier", "all copies have the same pod template", "remove `barrier`"),
    not_yet_here("barrier-of-copies", "all copies have the same pod template", "remove `barrier`"),
    Support("pod-templates"),
    Support("leader"),
    Support("missing-pods"),
    not_yet_here("adopt", "only a JobSet owns the objects of its gang", "leave `cleanup` out"),
    Support("pod-name-length", up_to=LONGEST_NAMES),
    never(
        "pod-name-length",
        "Grove allows 45 characters for the names of a PodCliqueSet, a scaling group and a clique together",
        "shorten the names of workflow, gang, group or podSet",
    ),
)


def clique_name(gang: GangPlan, pods: Pods) -> str:
    """The podSet's own name, or with its groups' if another podSet of the gang has it too."""
    same = [each for each in all_pods(gang.root) if each.spec.name == pods.spec.name]
    return pods.spec.name if len({each.route for each in same}) == 1 else pods.template


def is_clique(units: Units) -> bool:
    """Whether a group is one clique, rather than a scaling group: one podSet, once. Pods with ranks are a scaling
    group, whose replicas Grove replaces as a whole."""
    member = units.members[0]
    single = len(units.members) == 1 and member.copies == 1 and len(member.pods) == 1 and not member.groups
    return single and (member.pods[0].ranks is None or member.pods[0].total == 1)


def mixes_versions(gang: GangPlan) -> bool:
    """Whether ranks of one rendezvous may have different versions during an update."""
    alone = [pods for pods in gang.root.pods if pods.ranks and pods.total > 1]
    return bool(alone) or (gang.gang.rendezvous == "gang" and bool(gang.root.groups))


def scaling_group(gang: GangPlan, pods: Pods) -> Units | None:
    """The scaling group of a podSet."""
    groups = (units for units in gang.root.groups if not is_clique(units))
    return next((units for units in groups if pods in all_pods(units.members[0])), None)


def units_of(gang: GangPlan) -> Iterator[tuple[str, Unit]]:
    """The units that can have a constraint, by the field of the opened object (`kube/grove.py`)."""
    yield CONSTRAINT, gang.root
    for units in gang.root.groups:
        member = units.members[0]
        if is_clique(units):
            yield clique_key(clique_name(gang, member.pods[0])), member
            continue
        yield group_key(units.name), member
        for inner in member.groups:
            yield clique_key(clique_name(gang, inner.members[0].pods[0])), inner.members[0]


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The names that Grove's limit counts (validatePodNameConstraints)."""
    units = scaling_group(gang, pods)
    return f"{workload.name}{units.name if units else ''}{clique_name(gang, pods)}"


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """Grove sets the numbers of a pod and of its scaling group in all containers."""
    return Numbers(INDEX_VARIABLE, COPY_VARIABLE if pods.copies > 1 else "0")


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """`<set>-<copy>[-<scaling group>-<number>]-<clique>-<number>.<set>-<copy>` (namegen.go, configurePodHostname)."""
    several = gang.gang.replicas > 1 or gang.gang.autoscale
    base = f"{workload.name}-$({SET_VARIABLE})" if several else f"{workload.name}-0"
    units = scaling_group(gang, pods)
    which = copy if isinstance(copy, int) else f"$(({copy}))"
    inside = f"{base}-{units.name}-{which}" if units else base
    return f"{inside}-{clique_name(gang, pods)}-{number}.{base}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """One PodCliqueSet."""
    gang = workload.gangs[0]
    owners = [pieces[gang.name, pods.name].owner for _, pods in instances(workload)]
    constraints = owners[0].spec
    templates = (mapping(each.template, "spec") for each in pieces.values())
    priority = next((each["priorityClassName"] for each in templates if "priorityClassName" in each), "")
    groups = [
        {
            "name": units.name,
            "cliqueNames": [clique_name(gang, pods) for pods in all_pods(units.members[0])],
            "replicas": units.members[0].copies,
            "minAvailable": min(units.minimum, units.members[0].copies),
            **non_empty(topologyConstraint=constraints.get(group_key(units.name))),
        }
        for units in gang.root.groups
        if not is_clique(units)
    ]
    ordered = any(pods.spec.starts_after for pods in all_pods(gang.root))
    names = {pods.name: clique_name(gang, pods) for _, pods in instances(workload)}
    cliques = [
        _clique(names[pods.name], pods, pieces[gang.name, pods.name], constraints, list(_before(gang, pods, names)))
        for _, pods in sorted(instances(workload), key=lambda each: _found_late(names[each[1].name], names.values()))
    ]
    yield {
        "apiVersion": API_VERSION,
        "kind": "PodCliqueSet",
        "metadata": meta(workload.name, *owners),
        "spec": {
            "replicas": gang.gang.replicas,
            **({"updateStrategy": {"type": "OnDelete"}} if mixes_versions(gang) else {}),
            "template": {
                **non_empty(topologyConstraint=constraints.get(CONSTRAINT)),
                **non_empty(priorityClassName=priority),
                **({"cliqueStartupType": "CliqueStartupTypeExplicit"} if ordered else {}),
                "headlessServiceConfig": {"publishNotReadyAddresses": True},
                "cliques": cliques,
                **non_empty(podCliqueScalingGroups=groups),
            },
        },
    }
    yield from autoscaler(workload, owners[0].labels, API_VERSION, "PodCliqueSet")


def _found_late(name: str, names: Iterable[str]) -> int:
    """How many other cliques come before one, because Grove takes the first whose name is the end of a PodClique's
    name (buildResource in internal/controller/podcliqueset/components/podclique/podclique.go)."""
    return sum(other.endswith(name) for other in names)


def _before(gang: GangPlan, pods: Pods, names: Mapping[str, str]) -> Iterator[str]:
    """The cliques whose pods are ready before those of a podSet start: an init container of Grove waits for as many as
    `minAvailable` in each (initcontainer.go, generateArgsForInitContainer)."""
    everyone = (each for each in all_pods(gang.root) if each.spec.name in pods.spec.starts_after)
    yield from dict.fromkeys(names[each.name] for each in everyone)


def _clique(
    name: str, pods: Pods, piece: Piece, constraints: Mapping[str, Any], after: Sequence[str]
) -> dict[str, Any]:
    """A clique. Its pods always start again, so Grove sets their `restartPolicy`."""
    metadata = mapping(piece.template, "metadata")
    spec = {key: each for key, each in mapping(piece.template, "spec").items() if key != "restartPolicy"}
    return {
        "name": name,
        **{key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)},
        **non_empty(topologyConstraint=constraints.get(clique_key(name))),
        "spec": {
            "roleName": name,
            "replicas": pods.replicas,
            "minAvailable": pods.minimum,
            **non_empty(startsAfter=after),
            "podSpec": spec,
        },
    }
