"""Kueue 0.14 to 0.19: levels as annotations of pod templates, groups as slices of one podSet.

The rows declare what Kueue supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.backends.kueue.lower import (
    LAYER_GATE,
    PodSets,
    is_pair,
    levels,
    lower,
    pod_sets_of,
    prefers_below,
    requests,
)
from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.kube.kinds import MPIJOB, instances
from bayplan.model.backend import (
    CHAINED,
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
from bayplan.model.manifest import Manifest, Shape, Workload
from bayplan.model.plan import (
    BOUNDED,
    CHANNEL,
    SLOTS,
    WHOLE,
    GangPlan,
    Plan,
    Pods,
    Unit,
    all_pods,
    gang_queue,
    once,
    title,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.planning import compute_domains
from bayplan.planning.fit import Impossible
from bayplan.planning.fit import prove as fit
from bayplan.planning.fit.problem import demand
from bayplan.planning.fit.search import may_lack, starving

FEATURES: Mapping[str, Feature] = {
    "unlike-pair": Feature("two podSets under one placement that are not a leader and its workers", code="F625"),
    "unlike-slices": Feature("a placement over groups that differ", code="F639"),
    "slice-layers": Feature("nested groups with a level each", "layers of slices", "F638"),
    "gated-slice-layers": Feature("nested groups, with TASMultiLayerTopology on", "layers of slices", "F638"),
    "slice-of-jobs": Feature("nested groups in a JobSet", code="F638"),
    "slice-preferred": Feature("a preferred level of groups", code="F632"),
    "finer-preferred": Feature("a preferred level below the required level of groups inside", code="F632"),
    "bare-pod-sets": Feature("bare pods of several podSets in one gang", code="F616"),
    "concurrent-gangs": Feature("different gangs that run at the same time", "gangs", "F690"),
    "concurrent-pod-sets": Feature("several podSets in little room", "podSets", "F690"),
    "flavorless-pods": Feature("pods without requests", code="F643"),
    "admitted-together": Feature("separate admission of gangs with `dependsOn`", code="F659"),
    "surge": Feature("copies above `replicas` during a rollout (`surge`)", code="F771", firm=True),
    CHAINED: Feature("separate admission of copies that wait for others (`atOnce`)", code="F659"),
    "queues-together": Feature("queues of their own for gangs with `dependsOn`", code="F758", firm=True),
    "late-launcher": Feature("launchers of MPIJobs that start later", code="F783"),
    "flavor-size": Feature("many labels or tolerations of one pool", "labels or tolerations", "F657", True),
    "flavor-count": Feature("many pools", "pools", "F658", True),
}
"""Needs that only Kueue has: the shared needs do not describe pairs and slices."""

ONE_BY_ONE = (
    "Kueue places each podSet by itself, and keeps at most two podSets together: a leader with one pod and its workers"
)
UNFOLD = "merge the pods into one podSet, or place the groups and remove the placement around them"
ELASTIC = "Kueue admits a workload as a whole; its partial admission covers only Jobs without a topology"
NESTED_SLICES = (
    "Kueue has at most 3 nested layers of slices, behind TASMultiLayerTopology since 0.17 and by default since 0.19"
)

PODS = (
    approximate("gang", "Kueue admits all pods at once, but kube-scheduler starts them one by one", report="info"),
    Support("rank-order"),
    never("optional-pods", ELASTIC, "remove `minReplicas`"),
    Support("optional-pods-placed"),  # "optional-pods" refuses the pods themselves
    never("optional-groups", ELASTIC, "remove `minReplicas`"),
    approximate(
        "concurrent-gangs",
        "Kueue admits gangs one after another and never moves them, so if room is scarce, it may not admit all gangs"
        " although they fit",
        "apply the gang that needs the most room first: `--gang NAME`",
        report="info",
    ),
    approximate(
        "concurrent-pod-sets",
        "Kueue places podSets one after another and never moves them, so if room is scarce, it may not admit the gang,"
        " or lose a preferred level",
        "write the podSet that needs the most room first",
        report="info",
    ),
    never(
        "numa",
        "Kueue does not align pods to NUMA nodes; the kubelet does",
        "remove `numa`, and set the kubelet's topology manager policy",
    ),
    never(
        "flavorless-pods",
        "Kueue assigns no flavor to pods without requests, and admits no workload that has such pods, unless its"
        " ClusterQueue covers `pods`",
        'set `resources` of the podSet, such as `resources: {cpu: "1"}`',
    ),
    not_yet_here(
        "bare-pod-sets",
        "Kueue identifies the podSets of bare pods by their requests, not by name",
        "use `workload: jobset`",
    ),
)
PLACEMENT = (
    *exact(
        "group-depth uneven-groups required-level preferred-level repeated-values",
    ),
    not_yet_upstream(
        "group-preferred",
        "Kueue has only required levels for slices of a podSet; below their level it packs them tightly anyway",
        "remove `preferred`, or require the level",
    ),
    not_yet_upstream(
        "slice-preferred",
        "Kueue has only required levels for slices of a podSet",
        "require the level, or set `preferred` on the whole gang",
    ),
    not_yet_upstream(
        "finer-preferred",
        "Kueue admits no podSet that prefers a finer level than its slices require",
        "prefer the level of the groups or a coarser one",
    ),
    not_yet_upstream(
        "required-and-preferred",
        "Kueue accepts either a required or a preferred level; below a required level it packs pods tightly anyway",
        "remove `preferred`",
    ),
    not_yet_upstream(
        "separate",
        "Kueue may place several slices in one domain and cannot keep them apart",
        "remove `separate`; a group that fills more than half of a domain never shares it with another one",
    ),
    never(
        "mixed-pools",
        "Kueue runs each podSet on one ResourceFlavor, which has one Topology",
        "put the pods of each pool into a group of their own, without a placement over both",
    ),
    Support("mixed-pod-sets", up_to=2),
    not_yet_upstream("mixed-pod-sets", ONE_BY_ONE, UNFOLD),
    not_yet_upstream(
        "unlike-pair",
        "Kueue keeps two podSets together only if one has a single pod, both are in one pool and neither has slices;"
        " several instances of their group would be slices",
        "write each instance as a group of its own with `replicas: 1`, or remove the placement of the group",
    ),
    not_yet_upstream(
        "unlike-slices",
        "Kueue cuts a podSet into slices of equal size with consecutive ranks",
        "make the groups equal, or place each group and remove the placement around them",
    ),
    Support("slice-layers", up_to=1),
    Support("slice-layers", up_to=3, component="kueue", since="0.19"),
    not_yet_upstream(
        "slice-layers",
        NESTED_SLICES,
        "target Kueue 0.19, state the gate in the topology file, `schedulers: {kueue: {featureGates:"
        " {TASMultiLayerTopology: true}}}`, or nest fewer groups",
    ),
    not_yet_upstream(
        "slice-of-jobs",
        "each inner group is a Job of the JobSet, and Kueue's webhook refuses Jobs that have fewer pods than a slice",
        "use `workload: job`, which takes one podSet, or remove the placement around the inner groups",
    ),
    Support("gated-slice-layers", up_to=1),
    Support("gated-slice-layers", up_to=3, component="kueue", since="0.17"),
    not_yet_upstream("gated-slice-layers", NESTED_SLICES, "target Kueue 0.17 or later, or nest fewer groups"),
)
CLAIMS = (
    *exact(
        "network-cards pod-network fixed-address",
    ),
    approximate(
        "compute-domain",
        "Kueue below 0.18 does not see claims for ComputeDomain channels, so they count against no quota",
        "ignore this if each node has one pod with such a claim",
        report="warning",
        component="kueue",
        until="0.18",
    ),
    not_yet_upstream(
        "compute-domain",
        "Kueue 0.18 refuses claims with a device configuration, and each claim for a ComputeDomain channel has one",
        "target Kueue 0.19 or 0.17",
        component="kueue",
        until="0.19",
    ),
    Support("compute-domain"),
    approximate(
        "several-compute-domains",
        "bayplan writes one ComputeDomain for the gang, because under Kueue its groups share one pod template; each"
        " group keeps NVLink through its required level",
        "set `computeDomain: gang` to state this in the file",
        report="warning",
    ),
    never(
        "compute-domain-each",
        "under Kueue the groups share one pod template, which names one claim template",
        "remove `computeDomain: group`; one ComputeDomain for the gang does the same inside each group",
    ),
    not_yet_upstream(
        "network-claim",
        "Kueue does not count claimed network cards when it chooses a domain, and Kueue 0.18 admits no workload whose"
        " claims have constraints or a configuration",
        "use a fabric whose cards are extended resources",
    ),
    not_yet_upstream(
        "gpu-claim",
        "Kueue does not count claimed GPUs when it chooses a domain, so it chooses domains that are full",
        "use `allocator: device-plugin`",
    ),
)
QUEUES = (
    Support("queue"),
    never(
        "no-queue",
        "Kueue ignores workloads without a queue",
        "set `spec.queue`, or `defaults.queue` in the topology file",
    ),
    Support("priority"),
    never(
        "preemptible",
        "Kueue ignores `preemptible`; the ClusterQueue decides which workloads it may preempt",
        "remove `preemptible`, and set `preemption` in the ClusterQueue",
    ),
    approximate(
        "admitted-together",
        "Kueue admits gangs with `dependsOn` together, as one JobSet, once there are quota and room for all of them",
        "render them separately with `--gang NAME` if they wait too long",
        report="info",
    ),
    never(
        "queues-together",
        "gangs with `dependsOn` are one JobSet, which Kueue admits from the queue that its label names",
        "give them one queue, or render them separately with `--gang NAME`",
    ),
    never(
        CHAINED,
        "copies that wait would be in one JobSet with those that run, and Kueue admits a JobSet only if there are quota"
        " and room for all of it",
        "remove `atOnce`, or state in the topology's `queues` a `limit` of the queue that holds only so many copies",
    ),
)
CLUSTER = (
    # Levels of an assignment: 8 up to 0.14.2, then 16 (CRD `workloads.kueue.x-k8s.io`), as many as a Topology has.
    Support("level-count", up_to=8),
    Support("level-count", up_to=16, component="kueue", since="0.14.3"),
    never(
        "level-count",
        "a Topology of Kueue has at most 16 levels, and up to Kueue 0.14.2 an assignment has at most 8",
        "remove levels that no placement uses",
    ),
    # A level in a Workload: no limit in v1beta1, 63 characters in v1beta2; 316 in a Topology.
    Support("label-key-length", up_to=316, component="kueue", until="0.15"),
    Support("label-key-length", up_to=63),
    never(
        "label-key-length",
        "a Workload of Kueue names a level in at most 63 characters, with prefix and slash (316 below Kueue 0.15)",
        "copy the label of the nodes to a label with a shorter key",
    ),
    Support("node-name-length"),
    Support("flavor-count", up_to=64),
    never(
        "flavor-count",
        "a ClusterQueue of Kueue has at most 64 flavors for one set of resources, and each pool is one flavor",
        "merge pools with equal nodes and levels",
    ),
    Support("flavor-size", up_to=8),
    never(
        "flavor-size",
        "a ResourceFlavor of Kueue has at most 8 node labels and 8 tolerations",
        "select the nodes by one label that only the nodes of this pool have",
    ),
)
KINDS = (
    Support("late-launcher", component="mpiOperator", since="0.8"),
    not_yet_upstream(
        "late-launcher",
        "Kueue chooses nodes when the launcher's Job is there already, and mpi-operator below 0.8 does not change it",
        "target mpi-operator 0.8 or later, or use `workload: jobset`",
    ),
    Support("workload-jobset", up_to=8),
    Support("workload-jobset", up_to=10, component="kueue", since="0.18"),
    Support("workload-jobset", up_to=18, component="kueue", since="0.19"),
    never(
        "workload-jobset",
        "a Workload of Kueue has at most 8 podSets (10 since Kueue 0.18, 18 since 0.19), and each replicatedJob is one",
        "make the groups equal, so that they become one podSet",
    ),
    Support("workload-job", up_to=1),
    Support("limited-copies"),
    # `podsCount` and `minPodsCount` in pkg/controller/jobs/job/job_controller.go (Kueue 0.14 to 0.19)
    approximate(
        "unlimited-copies",
        "Kueue admits a Job only if all its pods fit together, and starts no more after a partial admission, so each"
        " copy is a Job of its own",
        "set `atOnce`",
        report="info",
    ),
    never(
        "workload-job",
        "Kueue admits each Job as a workload of its own, and cannot admit several Jobs together",
        "use `workload: jobset`",
    ),
    Support("workload-pods"),
    # `filterWorkloads` (pkg/controller/jobs/leaderworkerset/leaderworkerset_reconciler.go)
    Support("surge", component="kueue", since="0.16"),
    not_yet_upstream(
        "surge",
        "Kueue below 0.16 makes no Workload for a copy above `replicas`, so its pods wait for ever",
        "target Kueue 0.16 or later, or set `surge: 0`",
    ),
    never("workload-volcano-job", hint="use `workload: jobset`"),
    never("workload-sbatch", hint="use `workload: jobset`, or `-s slurm`"),
)
SUPPORT = (*PODS, *PLACEMENT, *CLAIMS, *QUEUES, *CLUSTER, *KINDS)


# Needs that only Kueue has: how placements cover podSets, the size of a workload, and the flavors of pods.
#
# Then placements that Kueue does not find, and settings that the cluster needs (Kueue 0.14 to 0.19).


def needs(plan: Plan) -> tuple[Need, ...]:
    """The needs of the plan with one ComputeDomain for each gang, as bayplan folds it."""
    merged = compute_domains.merge(plan)
    firsts = [gang for gang in merged.gangs if gang.copy == 0]
    return (
        *(need for gang in firsts for need in _gang_needs(merged, gang)),
        *_dependent_gangs(merged),
        *_queues_together(merged),
        *_concurrent_gangs(merged),
        *cluster_needs(plan.topology),
    )


def _queues_together(plan: Plan) -> Iterator[Need]:
    """Gangs of one JobSet in different queues."""
    named = {gang.name: gang_queue(plan, gang) for gang in plan.gangs}
    for gang in (each for each in plan.gangs if each.copy == 0):
        if any(named.get(name, named[gang.name]) != named[gang.name] for name in gang.after):
            yield Need("queues-together", 1, (*gang.route, "dependsOn"), subject=f'gang "{gang.gang.name}"')


def _gang_needs(plan: Plan, gang: GangPlan) -> Iterator[Need]:
    pod_sets = pod_sets_of(gang)
    seen: set[tuple[str | int, ...]] = set()
    for pod_set in pod_sets.pod_sets:
        for unit, count in pod_set.placements():
            if unit.route not in seen:
                seen.add(unit.route)
                yield from _unit_needs(gang, unit, count, pod_sets)
    for pods in (each.pods for each in pod_sets.pod_sets):
        if not _requests(pods, plan.topology):
            yield Need("flavorless-pods", 1, pods.route, subject=f'podSet "{pods.spec.name}"')
    yield from _level_needs(plan, gang, pod_sets)
    several = len(pod_sets.pod_sets)
    if several > 1 and not is_pair(pod_sets.pod_sets) and _scarce_room(plan, gang):
        yield Need("concurrent-pod-sets", several, (*gang.route, "name"), subject=title(gang, gang.root))
    if several > 1 and gang.gang.workload == "pods":
        yield Need("bare-pod-sets", several, (*gang.route, "workload"), subject=title(gang, gang.root))


def _scarce_room(plan: Plan, gang: GangPlan) -> bool:
    """Whether a podSet may take the room of another one (Kueue 0.14 to 0.19, `tas_flavor_snapshot.go`,
    FindTopologyAssignmentsForFlavor)."""
    everyone = list(all_pods(gang.root))
    units = (unit._replace(required=unit.required or unit.preferred) for unit in once(walk(gang.root)))
    return any(may_lack(unit, everyone, plan) for unit in units if unit.required or unit.route == gang.root.route)


def _unit_needs(gang: GangPlan, unit: Unit, count: int, pod_sets: PodSets) -> Iterator[Need]:
    """Whether Kueue can express a placement. More than two podSets under it are a need that all plans may have."""
    members, at = pod_sets.within(unit), (*unit.route, "placement")
    sets = {pod_set.pods.route for pod_set in members}
    if len(sets) == 1 and len(members) > 1 and not _optional(gang.root):
        yield Need("unlike-slices", len(members), at, not unit.required, title(gang, unit))
    elif len(sets) == 2 and not is_pair(members):
        yield Need("unlike-pair", len(members), at, not unit.required, title(gang, unit))
    # The shared needs cover a placement inside another one.
    elif len(members) == 1 and count > 1 and not unit.required and next(members[0].placements())[0] is unit:
        yield Need("slice-preferred", count, (*at, "preferred"), True, title(gang, unit))


def _requests(pods: Pods, topology: ClusterTopology) -> bool:
    """Whether Kueue counts anything of the pods (Kueue 0.14 to 0.19, `tas_flavorassigner.go`, onlyTASFlavor)."""
    return any(name not in (CHANNEL, WHOLE, SLOTS) and not name.startswith(BOUNDED) for name in demand(pods, topology))


def _optional(root: Unit) -> bool:
    """Whether some groups are optional: they do not fold, and the shared needs cover their loss."""
    return any(units.optional for unit in walk(root) for units in unit.groups)


def _level_needs(plan: Plan, gang: GangPlan, pod_sets: PodSets) -> Iterator[Need]:
    """Layers of slices, and preferred levels that Kueue does not accept above them."""
    deepest, route = 0, gang.route
    preferring: dict[Route, Need] = {}
    for pod_set in pod_sets.pod_sets:
        placements = list(pod_sets.expressible(pod_set))
        if placements and prefers_below(plan, pod_set, placements):
            unit = placements[0][0]
            at = (*unit.route, "placement", "preferred")
            preferring[at] = Need("finer-preferred", 1, at, True, title(gang, unit))
        if placements and len(pod_sets.within(placements[-1][0])) == 1:  # a pair has one level
            layers = len(levels(plan, pod_set, placements)[1])
            deepest, route = max((deepest, route), (layers, pod_set.pods.route[:-2]), key=lambda depth: depth[0])
    yield from preferring.values()
    if deepest:
        gated = plan.topology.gates("kueue").get(LAYER_GATE)
        feature = "gated-slice-layers" if gated else "slice-layers"
        yield Need(feature, deepest, route, subject=title(gang, gang.root))


def kind_needs(plan: Plan, workload: Workload) -> Iterator[Need]:
    """Slices of several Jobs of a JobSet: Kueue judges its Jobs too (Kueue 0.14 to 0.19, `job_webhook.go`).
    LeaderWorkerSets with more copies than `replicas`. Launchers that are part of a gang."""
    gang = workload.gangs[0]
    if workload.kind == "lws" and gang.gang.rollout and gang.gang.rollout.surge:
        yield Need("surge", gang.gang.rollout.surge, (*gang.route, "rollout", "surge"), subject=title(gang, gang.root))
    if workload.kind == MPIJOB:
        yield Need("late-launcher", 1, (*gang.route, "workload"), subject=title(gang, gang.root))
    if workload.kind != "jobset":
        return
    names = {gang.name for gang in workload.gangs}
    copied = (gang for gang in workload.gangs if gang.copies > 1)  # of these the plan has each copy
    request_of = {gang.name: requests(plan, gang) for gang in (*plan.gangs, *copied) if gang.name in names}
    for gang, pods in instances(workload):
        largest = max((layer.size for layer in request_of[gang.name][pods.name].layers), default=0)
        if largest > pods.replicas:
            yield Need("slice-of-jobs", largest // pods.replicas, gang.route, subject=title(gang, gang.root))
            return


def _dependent_gangs(plan: Plan) -> Iterator[Need]:
    """Gangs in one JobSet are one Workload."""
    waiting = [gang for gang in plan.gangs if gang.copy == 0 and gang.after]
    for gang in waiting:
        gangs = len(gang.after) + 1
        yield Need("admitted-together", gangs, (*gang.route, "dependsOn"), subject=title(gang, gang.root))
    for gang in once(each for each in plan.gangs if each.previous):
        yield Need(CHAINED, 1, (*gang.route, "atOnce"), subject=title(gang, gang.root))


def _concurrent_gangs(plan: Plan) -> Iterator[Need]:
    """Different gangs of which one may take the room of another (Kueue 0.14 to 0.19, `scheduler.go`, schedule)."""
    if last := starving(plan):
        yield Need("concurrent-gangs", 1, (*last.route, "name"), subject=title(last, last.root))


def cluster_needs(topology: ClusterTopology) -> Iterator[Need]:
    """The limits of flavors, which select nodes by their labels."""
    yield Need("flavor-count", len(topology.pools), ("topology", "spec", "pools"), subject="the topology")
    for number, pool in enumerate(topology.pools):
        at, subject = ("topology", "spec", "pools", number, "node"), f'pool "{pool.name}"'
        largest = max(len(pool.node.node_selector), len(pool.node.tolerations))
        yield Need("flavor-size", largest, at, subject=subject)


# Gangs of one JobSet must fit at the same time, although they run one after another.
#
# Kueue makes one Workload of a JobSet and looks for quota and domains for all of its podSets (Kueue 0.14 to 0.19,
# `jobset_controller.go`). It never admits a plan whose gangs fit only one after another.


def prove(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    """F659 if the gangs do not fit at the same time. For one podSet, Kueue finds every placement that exists."""
    waiting = next((gang for gang in plan.gangs if gang.after), None)
    if waiting is None:
        return
    chained = {gang.route for gang in plan.gangs if gang.previous}
    at_the_same_time = plan._replace(gangs=tuple(_at_once(gang, gang.route in chained) for gang in plan.gangs))
    if not isinstance(fit(at_the_same_time), Impossible):
        return
    message = (
        f'gang "{waiting.gang.name}" and its predecessors do not fit at the same time, but Kueue'
        f" {target.version('kueue')} admits their JobSet only if there is room for all of them"
    )
    hint = "render the gangs separately with `--gang NAME`, and start one after the other"
    sweep = next(
        (gang for gang in plan.gangs if gang.gang.replicas > 1 and sum(1 for _ in all_pods(gang.root)) == 1), None
    )
    if sweep and sweep.gang.at_once != 1:
        fewer = "a lower `atOnce`" if sweep.gang.at_once else "`atOnce`"
        hint = f'set {fewer} on gang "{sweep.gang.name}", or {hint}'
    yield error("F659", (*waiting.route, "dependsOn"), message, hint=hint)


def _at_once(gang: GangPlan, chained: bool) -> GangPlan:
    """The gang as its JobSet needs it, without waiting for others: with all copies, or as many as one Job starts.

    `chained`: whether its copies are Jobs of the JobSet, of which some wait for others.
    """
    copies = gang.gang.replicas if chained else gang.gang.at_once or gang.gang.replicas
    return gang._replace(after=(), gang=gang.gang._replace(at_once=copies))


# Features that must be on in the cluster

CODE = "F689"
TAS_GATE = "TopologyAwareScheduling"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The device class of a ComputeDomain's channel (NVIDIA DRA driver 25.3 to 0.4)."""


def notices(plan: Plan, shape: Shape, target: Target) -> tuple[Diagnostic, ...]:
    """One finding for each setting."""
    return (*_gates(plan), *_bare_pods(plan, shape, target), *_integrations(shape, target), *_channels(plan, target))


def _gates(plan: Plan) -> Iterator[Diagnostic]:
    """Both gates are on by default in the versions that support them, unless the topology file states otherwise."""
    gates = plan.topology.gates("kueue")
    requested = [request for gang in plan.gangs for request in requests(plan, gang).values()]
    placed = any(request.required or request.preferred or request.layers for request in requested)
    nested = any(len(request.layers) > 1 for request in requested)
    for gate, needed in ((TAS_GATE, placed), (LAYER_GATE, nested)):
        if needed and gates.get(gate) is False:
            at = ("topology", "spec", "schedulers", "kueue", "featureGates", gate)
            message = f"Kueue ignores the placement while its feature gate {gate} is off, as the topology file states"
            hint = "enable the gate in Kueue's configuration, then set it to true here"
            yield error(CODE, at, message, hint=hint)


def _bare_pods(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    bare = next((each for each in shape.workloads if each.kind == "pods"), None)
    if bare and not target.since("kueue", "0.16"):
        version, at = target.version("kueue"), (*bare.gangs[0].route, "workload")
        message = f"Kueue {version} ignores bare pods unless its configuration enables them"
        hint = "add `pod` to `integrations.frameworks`; it is there by default since Kueue 0.16"
        yield info(CODE, at, message, hint=hint)


def _channels(plan: Plan, target: Target) -> Iterator[Diagnostic]:
    mappings = plan.topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    domain = next((domain for gang in plan.gangs for domain in gang.compute_domains), None)
    if domain and target.since("kueue", "0.19") and CHANNEL_CLASS not in mappings:
        message = (
            f'Kueue admits claims only of device classes that it counts; by default it does not count "{CHANNEL_CLASS}"'
        )
        hint = (
            "map it in Kueue's configuration (`resources.deviceClassMappings`), give the queue a quota of that"
            " resource, and state it in the topology file: `schedulers: {kueue: {deviceClassMappings: "
            f"{{{CHANNEL_CLASS}: RESOURCE}}}}}}`"
        )
        yield info(CODE, domain.route, message, hint=hint)


def _integrations(shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """For an existing workload: an integration that is off by default."""
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
        ),  # bare pods only if a gang requests them: Kueue identifies their podSets only by requests
        folds={"jobset": "all", "job": "all"},
        kind_needs=kind_needs,
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
