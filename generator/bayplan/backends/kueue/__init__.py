"""Kueue 0.14 to 0.19: levels as annotations of pod templates, groups as slices of one podSet.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.kueue.lower import LAYER_GATE, PodSet, PodSets, is_pair, lower, pod_sets_of, requests
from bayplan.core.diagnostics import Diagnostic, error, info
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Feature,
    Need,
    Support,
    approximate,
    exact,
    never,
    not_yet_here,
    not_yet_upstream,
)
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import GangPlan, Plan, Unit, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.planning import compute_domains
from bayplan.planning.fit import Impossible
from bayplan.planning.fit import prove as fit

FEATURES: Mapping[str, Feature] = {
    "unlike-pair": Feature("a placement over two podSets that are no leader and its workers", code="F650"),
    "unlike-slices": Feature("a placement over group instances that differ", code="F651"),
    "slice-layers": Feature("groups inside each other, each on a level", "layers of slices", "F652"),
    "gated-slice-layers": Feature("groups inside each other, behind a feature gate", "layers of slices", "F653"),
    "slice-preferred": Feature("groups that should share one domain each", code="F654"),
    "bare-pod-sets": Feature("bare pods of several podSets in one gang", "podSets", "F655"),
    "admitted-together": Feature("gangs that run after each other are admitted together", "gangs", "F656"),
    "flavor-size": Feature("labels or tolerations of one pool", "entries", "F657", True),
    "flavor-count": Feature("pools behind one queue", "pools", "F658", True),
}
"""Needs of Kueue's own. What a pair or slices may be, no shared need says."""

ONE_BY_ONE = "Kueue places every podSet by itself; together it places a leader and its workers, two podSets at most"
UNFOLD = "put the pods into one podSet, or place the groups and not what is around them"
ELASTIC = "Kueue admits a workload whole; its partial admission is for Jobs without a topology"
NESTED_SLICES = (
    "nested slices are behind the feature gate TASMultiLayerTopology, which came with 0.17 and is on since 0.19"
)

PODS = (
    approximate("gang", "it admits all pods at once, but kube-scheduler starts them one by one", report="info"),
    Support("rank-order"),
    never("optional-pods", ELASTIC, "leave `minReplicas` out"),
    Support("optional-pods-placed"),  # the pods themselves are refused
    never("optional-groups", ELASTIC, "leave `minReplicas` out"),
    never("numa", "NUMA is the kubelet's to align", "set its topology manager policy"),
    not_yet_here(
        "bare-pod-sets",
        "Kueue tells the podSets of a group of pods apart by what their pods ask for, not by name",
        "use `workload: jobset`",
    ),
)
PLACEMENT = (
    *exact(
        "group-depth uneven-groups required-level preferred-level repeated-values",
    ),
    not_yet_upstream(
        "group-preferred",
        "slices of a podSet have required levels only; Kueue packs them tightly below its level anyway",
        "leave it out, or require the level",
    ),
    not_yet_upstream(
        "slice-preferred",
        "slices of a podSet have required levels only",
        "require the level, or prefer one for the whole gang",
    ),
    not_yet_upstream(
        "required-and-preferred",
        "the two annotations exclude each other; below a required level Kueue packs as tightly as it can",
        "leave the preferred level out",
    ),
    not_yet_upstream(
        "separate",
        "slices may share a domain, and nothing keeps them apart",
        "leave `separate` out: groups that fill more than half of a domain are apart by arithmetic",
    ),
    never(
        "mixed-pools",
        "a podSet runs on one flavor, which has one Topology",
        "put the pods of each pool in a group of their own, without a placement over both",
    ),
    Support("mixed-pod-sets", up_to=2),
    not_yet_upstream("mixed-pod-sets", ONE_BY_ONE, UNFOLD),
    not_yet_upstream(
        "unlike-pair",
        "of two podSets in one domain, one must have a single pod; both run in one pool, and neither has slices,"
        " which several instances of their group would be",
        "write each instance as a group of its own with `replicas: 1`, or leave the group's placement out",
    ),
    not_yet_upstream(
        "unlike-slices",
        "slices of a podSet are all of one size, and their ranks follow each other",
        "make the groups equal, or place each group and not what is around them",
    ),
    Support("slice-layers", up_to=1),
    Support("slice-layers", up_to=3, component="kueue", since="0.19"),
    not_yet_upstream(
        "slice-layers",
        f"{NESTED_SLICES}, and there are 3 layers at most",
        "target Kueue 0.19, name the gate in the topology's `schedulers: {kueue: {featureGates}}`, or nest less",
    ),
    Support("gated-slice-layers", up_to=1),
    Support("gated-slice-layers", up_to=3, component="kueue", since="0.17"),
    not_yet_upstream(
        "gated-slice-layers",
        f"{NESTED_SLICES}, and there are 3 layers at most",
        "target Kueue 0.17 or later, or nest less",
    ),
)
CLAIMS = (
    *exact(
        "network-cards pod-network fixed-address",
    ),
    approximate(
        "compute-domain",
        "Kueue below 0.18 does not see the claims of its channels, so they count against no quota",
        "nothing to do where a node has one claiming pod",
        report="warning",
        component="kueue",
        until="0.18",
    ),
    not_yet_upstream(
        "compute-domain",
        "Kueue 0.18 refuses claims with a device configuration, which every channel has",
        "target Kueue 0.19, or 0.17",
        component="kueue",
        until="0.19",
    ),
    Support("compute-domain"),
    approximate(
        "several-compute-domains",
        "the groups share one pod template and so one ComputeDomain of the gang;"
        " NVLink stays whole inside each group, for the required level keeps it there",
        "nothing to do, or `computeDomain: gang` says so in the file",
        report="warning",
    ),
    never(
        "compute-domain-each",
        "the groups share one pod template, which names one claim",
        "leave `computeDomain: group` out: one for the gang does the same inside each group",
    ),
    not_yet_upstream(
        "network-claim",
        "claimed network cards do not count when Kueue looks for a domain, and Kueue 0.18 admits no workload"
        " whose claims have constraints or settings",
        "use a fabric whose cards are extended resources",
    ),
    not_yet_upstream(
        "gpu-claim",
        "claimed GPUs do not count when Kueue looks for a domain, so it would fill domains that are full",
        "use `allocator: device-plugin`",
    ),
)
QUEUES = (
    Support("queue"),
    never("no-queue", "it leaves work without a queue alone", "set `spec.queue`, or `defaults.queue` in the topology"),
    Support("priority"),
    never(
        "preemptible",
        "who may be preempted is for the ClusterQueue to say",
        "leave it out, and set `preemption` in the ClusterQueue",
    ),
    approximate(
        "admitted-together",
        "a JobSet is admitted as one workload, so it waits for quota and room for all of its gangs",
        "render them apart with `--gang NAME` where that is too much",
        report="info",
    ),
)
CLUSTER = (
    # Levels of an assignment: 8 up to 0.14.2, then 16 (CRD workloads.kueue.x-k8s.io), as many as a Topology has.
    Support("level-count", up_to=8),
    Support("level-count", up_to=16, component="kueue", since="0.14.3"),
    never(
        "level-count",
        "a Topology holds 16 levels, and up to Kueue 0.14.2 an assignment holds 8",
        "leave out levels nobody uses",
    ),
    # A level in a Workload: no bound in v1beta1, 63 characters in v1beta2; 316 in a Topology.
    Support("label-key-length", up_to=316, component="kueue", until="0.15"),
    Support("label-key-length", up_to=63),
    never(
        "label-key-length",
        "a workload names levels of 63 characters at most, prefix and slash counted",
        "copy the label of the nodes into one with a shorter key",
    ),
    Support("node-name-length"),
    Support("flavor-count", up_to=64),
    never(
        "flavor-count",
        "a ClusterQueue has 64 flavors for one set of resources, and each pool is one",
        "put pools of equal nodes and levels together",
    ),
    Support("flavor-size", up_to=8),
    never(
        "flavor-size",
        "a ResourceFlavor holds 8 labels and 8 tolerations",
        "one label that all nodes of the pool have is enough",
    ),
)
KINDS = (
    Support("workload-jobset", up_to=8),
    Support("workload-jobset", up_to=10, component="kueue", since="0.18"),
    Support("workload-jobset", up_to=18, component="kueue", since="0.19"),
    never(
        "workload-jobset",
        "each replicatedJob is a podSet, and a Workload holds 8 (10 since Kueue 0.18, 18 since 0.19)",
        "make the groups equal, so that they become one podSet",
    ),
    Support("workload-job", up_to=1),
    never(
        "workload-job", "each Job is a workload of its own, and no two are admitted together", "use `workload: jobset`"
    ),
    Support("workload-pods"),
    not_yet_here("workload-lws", "it makes a workload of each group of an LWS"),
    never("workload-volcano-job", "a Volcano Job is for Volcano"),
    never("workload-sbatch", "a batch script is for Slurm"),
)
SUPPORT = (*PODS, *PLACEMENT, *CLAIMS, *QUEUES, *CLUSTER, *KINDS)


# Needs that only Kueue has: how placements cover podSets, the size of a workload, and the flavors of pods.
#
# Also placements that Kueue does not find, and features that must be on in the cluster (Kueue 0.14 to 0.19).


def needs(plan: Plan) -> tuple[Need, ...]:
    """Of the plan as it will be folded: with one ComputeDomain a gang."""
    merged = compute_domains.merge(plan)
    firsts = [gang for gang in merged.gangs if gang.copy == 0]
    return (
        *(need for gang in firsts for need in _gang_needs(merged, gang)),
        *_dependent_gangs(merged),
        *cluster_needs(plan.topology),
    )


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    pod_sets = pod_sets_of(gang)
    seen: set[tuple[str | int, ...]] = set()
    for pod_set in pod_sets.pod_sets:
        for unit, count in pod_set.placements():
            if unit.route not in seen:
                seen.add(unit.route)
                yield from _unit_needs(gang, unit, count, pod_sets)
    yield from _layer_needs(plan, gang, pod_sets)
    several = len(pod_sets.pod_sets)
    if several > 1 and gang.gang.workload == "pods":
        yield Need("bare-pod-sets", several, (*gang.route, "workload"), subject=title(gang, gang.root))


def _unit_needs(gang: GangPlan, unit: Unit, count: int, pod_sets: PodSets) -> Iterator[Need]:
    """Whether Kueue can be told of a placement. More than two podSets under it are a need that all plans may have."""
    members, at = pod_sets.within(unit), (*unit.route, "placement")
    sets = {pod_set.pods.route for pod_set in members}
    if len(sets) == 1 and len(members) > 1 and not _optional(gang.root):
        yield Need("unlike-slices", len(members), at, not unit.required, title(gang, unit))
    elif len(sets) == 2 and not is_pair(members):
        yield Need("unlike-pair", len(members), at, not unit.required, title(gang, unit))
    # a placement around the unit's is a loss of all plans
    elif len(members) == 1 and count > 1 and not unit.required and next(members[0].placements())[0] is unit:
        yield Need("slice-preferred", count, (*at, "preferred"), True, title(gang, unit))


def _optional(root: Unit) -> bool:
    """Whether some groups are optional: they fold not, and that loss is one of all plans."""
    return any(units.optional for unit in walk(root) for units in unit.groups)


def _layer_needs(plan: Plan, gang: GangPlan, pod_sets: PodSets) -> Iterator[Need]:
    gated = plan.topology.gates("kueue").get(LAYER_GATE)
    depths = ((_layers(pod_set, pod_sets), pod_set.pods.route) for pod_set in pod_sets.pod_sets)
    deepest, route = max(depths, key=lambda depth: depth[0])
    if deepest:
        feature = "gated-slice-layers" if gated else "slice-layers"
        yield Need(feature, deepest, route[:-2], subject=title(gang, gang.root))


def _layers(pod_set: PodSet, pod_sets: PodSets) -> int:
    """Required levels below that of the podSet. A pair has one level whatever lies around it."""
    placements = list(pod_sets.expressible(pod_set))
    if not placements or len(pod_sets.within(placements[-1][0])) > 1:
        return 0
    slices = placements[1:] if placements[0][1] == 1 else placements
    return sum(bool(unit.required) for unit, _ in slices)


def _dependent_gangs(plan: Plan) -> Iterator[Need]:
    """Gangs in one JobSet are one Workload."""
    waiting = [gang for gang in plan.gangs if gang.copy == 0 and gang.after]
    for gang in waiting:
        gangs = len(gang.after) + 1
        yield Need("admitted-together", gangs, (*gang.route, "dependsOn"), subject=title(gang, gang.root))


def cluster_needs(topology: ClusterTopology) -> Iterator[Need]:
    """A flavor finds its nodes by their labels."""
    yield Need("flavor-count", len(topology.pools), ("topology", "spec", "pools"))
    for number, pool in enumerate(topology.pools):
        at, subject = ("topology", "spec", "pools", number, "node"), f'pool "{pool.name}"'
        largest = max(len(pool.node.node_selector), len(pool.node.tolerations))
        yield Need("flavor-size", largest, at, subject=subject)


# Gangs of one JobSet must fit at the same time, although they run one after another.
#
# Kueue makes one Workload of a JobSet and looks for quota and domains for all of its podSets (Kueue 0.14 to 0.19,
# `jobset_controller.go`): a plan that fits only step by step is never admitted.


def prove(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    """F659 where the gangs are proven not to fit without their order. For one podSet, Kueue finds what there is."""
    waiting = next((gang for gang in plan.gangs if gang.after), None)
    if waiting is None:
        return
    at_the_same_time = plan._replace(gangs=tuple(gang._replace(after=()) for gang in plan.gangs))
    if not isinstance(fit(at_the_same_time), Impossible):
        return
    message = (
        f'gang "{waiting.gang.name}" and the gangs that it waits for do not fit at the same time, and'
        f" Kueue {target.version('kueue')} admits their JobSet only when there is room for all of them"
    )
    hint = "render the gangs apart with `--gang NAME` and start one after the other"
    yield error("F659", (*waiting.route, "dependsOn"), message, hint=hint)


# Features that must be on in the cluster

CODE = "F689"
TAS_GATE = "TopologyAwareScheduling"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The device class of a ComputeDomain's channel (NVIDIA DRA driver 25.3 to 0.4)."""


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One finding for each thing."""
    return (*_gates(plan), *_bare_pods(plan, shape, target), *_integrations(shape, target), *_channels(plan, target))


def _gates(plan: Plan) -> Iterator[Diagnostic]:
    """Both gates are on by default in versions that the plan can be for, unless the topology says otherwise."""
    gates = plan.topology.gates("kueue")
    requested = [request for gang in plan.gangs for request in requests(plan, gang).values()]
    placed = any(request.required or request.preferred or request.layers for request in requested)
    nested = any(len(request.layers) > 1 for request in requested)
    for gate, needed in ((TAS_GATE, placed), (LAYER_GATE, nested)):
        if needed and gates.get(gate) is False:
            at = ("topology", "spec", "schedulers", "kueue", "featureGates", gate)
            message = f"Kueue's feature gate {gate} is off, and the placement depends on it"
            yield error(CODE, at, message, hint="switch it on in Kueue's configuration, then say so here")


def _bare_pods(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    bare = next((each for each in shape.workloads if each.kind == "pods"), None)
    if bare and not target.since("kueue", "0.16"):
        version, at = target.version("kueue"), (*bare.gangs[0].route, "workload")
        message = f"Kueue {version} leaves bare pods alone unless its configuration says so"
        yield info(CODE, at, message, hint='add "pod" to `integrations.frameworks`; 0.16 has it by default')


def _channels(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    mappings = plan.topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    domain = next((domain for gang in plan.gangs for domain in gang.compute_domains), None)
    if domain and target.since("kueue", "0.19") and CHANNEL_CLASS not in mappings:
        message = f'Kueue admits claims only of device classes that it counts, and "{CHANNEL_CLASS}" is none by default'
        hint = (
            "map it in Kueue's configuration (`resources.deviceClassMappings`), give the queue a quota of that"
            " resource, and say so in the topology: `schedulers: {kueue: {deviceClassMappings}}`"
        )
        yield info(CODE, domain.route, message, hint=hint)


def _integrations(shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """Of a workload that exists already: an integration that is not on by default."""
    if shape.existing:
        from bayplan.backends.kueue.existing import switched_off

        yield from switched_off(shape, target)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """Topologies, flavors and queues."""
    from bayplan.topologies import kueue

    return kueue.write(topology, target)


BACKEND = Backend(
    Declaration(
        "kueue",
        component="kueue",
        support=SUPPORT,
        features=FEATURES,
        kinds=(
            "jobset",
            "job",
        ),  # bare pods where a gang asks for them: Kueue tells their podSets apart by requests alone
        folds={"jobset": "all", "job": "all"},
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
