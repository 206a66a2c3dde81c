"""Choose the workload kind of every gang, and put gangs that wait for each other into one workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, warning
from bayplan.kube.kinds import (
    CONTROLLED,
    GROVE,
    JOB,
    JOBSET,
    KINDS,
    MPIJOB,
    READY_RANKS,
    SBATCH,
    SERVING,
    SINGLE,
    STATEFULSET,
    Kind,
    instances,
)
from bayplan.kube.pod import containers, has_probe
from bayplan.model.backend import CHAINED, FEATURES, LIMITED, UNLIMITED, Feature, Need, Support
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Pods,
    Ranks,
    Unit,
    Units,
    all_pods,
    awaited,
    edit_unit,
    instance,
    once,
    one_version,
    predecessors,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import makes_channels
from bayplan.model.workflow import PodSet, Workflow, base_name, most_copies, serves, varies
from bayplan.planning.fidelity import compare, find_row, kind_needs

# Fold the instances of a group into one, for workloads whose replicas share one pod template.
#
# A group instance folds if its pods differ from those of its siblings only in their ranks, and if the ranks can be
# computed from the number of the copy.


def fold(gang: GangPlan, optional: bool = False) -> GangPlan:
    """The gang with as few podSet instances as possible.

    `optional`: instances that the gang may start without fold too, and the group keeps how many must start.
    """
    root = _unit(gang.root, optional)
    return gang._replace(root=_mastered(root)) if root != gang.root else gang


def _unit(unit: Unit, optional: bool) -> Unit:
    return unit._replace(groups=tuple(_units(units, optional) for units in unit.groups))


def _units(units: Units, optional: bool) -> Units:
    """The group with one instance for all of them, if they are alike."""
    members = tuple(_unit(each, optional) for each in units.members)
    renamed = [_renamed(member, member.name, units.name) for member in members]
    every = optional or units.minimum == len(members)
    whole = len(members) > 1 and every and all(_bare(m) == _bare(renamed[0]) for m in renamed)
    merged = _merged(renamed[0], [list(all_pods(member)) for member in members]) if whole else None
    if merged is None:
        return units._replace(members=members)
    return units._replace(minimum=units.minimum if optional else 1, members=(merged._replace(copies=len(members)),))


def _renamed(unit: Unit, old: str, new: str) -> Unit:
    """The unit under the name of its group."""

    def rename(each: Any) -> Any:
        return each._replace(name=new + each.name.removeprefix(old))

    return edit_unit(unit, unit=rename, units=rename, pods=rename)


def _bare(unit: Unit) -> Unit:
    """The unit without ranks and without the names of folded instances."""
    return edit_unit(unit, pods=lambda pods: pods._replace(ranks=None, instances=("",) * len(pods.instances)))


def _merged(first: Unit, copies: Sequence[Sequence[Pods]]) -> Unit | None:
    """The first instance with the ranks and names of all; None if the ranks do not follow a rule."""
    folded: dict[str, Pods] = {}
    for target, same in zip(all_pods(first), zip(*copies, strict=True), strict=True):
        ranks = _ranks([pods.ranks for pods in same], same[0].copies)
        if ranks is None and same[0].ranks is not None:
            return None
        names = tuple(name for pods in same for name in pods.instances or (pods.name,))
        folded[target.name] = target._replace(ranks=ranks, instances=names)
    return _with(first, folded)


def _ranks(each: Sequence[Ranks | None], copies: int) -> Ranks | None:
    """Ranks of all copies as one rule. `copies`: how many copies each of them already is."""
    present = [ranks for ranks in each if ranks is not None]
    if len(present) < len(each):
        return None
    own = present[0].master != present[1].master  # a rendezvous in each copy
    stride = _stride([ranks.first for ranks in present], present[0].stride, copies)
    group_stride = _stride([ranks.group_index for ranks in present], present[0].group_stride, copies)
    if stride is None or group_stride is None:
        return None
    return present[0]._replace(stride=stride, group_stride=group_stride, each=own or present[0].each)


def _stride(numbers: Sequence[int], inner: int, copies: int) -> int | None:
    """The common distance of copies, if copies that were folded before have it too."""
    steps = {after - before for before, after in pairwise(numbers)}
    step = next(iter(steps))
    if len(steps) > 1 or (copies > 1 and step != inner * copies):
        return None
    return inner if copies > 1 else step


def _with(unit: Unit, folded: dict[str, Pods]) -> Unit:
    return edit_unit(unit, pods=lambda pods: folded.get(pods.name, pods))


def _mastered(root: Unit) -> Unit:
    """Masters under their names after folding. PodSets that were not folded may have their master in a folded copy."""
    renamed: dict[str, Pods] = {}
    for pods in all_pods(root):
        if pods.ranks:
            into, copy = instance(root, pods.ranks.master.pods)
            master = pods.ranks.master._replace(pods=into.name, number=0 if pods.ranks.each else copy * into.replicas)
            renamed[pods.name] = pods._replace(ranks=pods.ranks._replace(master=master))
    return _with(root, renamed)


Family = tuple[GangPlan, ...]

UNSHARED = "remove the placement of the groups, or make each group a gang"
OWN_HINTS = {
    "gangs": "remove `autoscale` and `surge`, so that bayplan writes a workload for each copy",
    "copies": UNSHARED,
    "ranks": UNSHARED,
}
"""What to do where templates cannot be shared, for workloads that bayplan writes."""


class Offer(NamedTuple):
    """What a backend declares: its name, its kinds in the order to try them, and its rows of support.

    `needs` are those of a workload of one kind that only this scheduler has; `features` describes them. `placed`: its
    rows for existing workloads, which hold for the kinds in `CONTROLLED` too; `placing`: the needs of one of these.
    """

    name: str
    kinds: tuple[str, ...]
    rows: tuple[Support, ...]
    folds: Mapping[str, str] = {}  # kind -> how far groups fold in it
    needs: Callable[[Plan, Workload], Iterable[Need]] = lambda *_: ()
    features: Mapping[str, Feature] = FEATURES
    placed: tuple[Support, ...] = ()
    placing: Callable[[Workload], Iterable[Need]] = lambda _: ()


def shape(plan: Plan, offer: Offer, target: Target) -> Outcome[Shape]:
    """One workload for each family of gangs, of the kind that the user set or the backend's first kind that fits.

    If no kind fits, it is one that the scheduler supports, so that the errors name what the workflow can do without.

    Copies of a gang are all of one kind. There is a shape even if there are gaps, because the user may accept a gap.
    """
    alike: dict[tuple[Route, ...], list[Family]] = {}
    for family in families(plan.gangs):
        alike.setdefault(tuple(dict.fromkeys(gang.route for gang in family)), []).append(family)
    outcomes = [_made(plan, copies, offer, target) for copies in alike.values()]
    workloads = tuple(workload for outcome in outcomes for workload in outcome.value or ())
    whole = all(outcome.value for outcome in outcomes)
    return Outcome(Shape(workloads) if whole else None, tuple(d for outcome in outcomes for d in outcome.diagnostics))


def families(gangs: tuple[GangPlan, ...]) -> list[Family]:
    """Gangs connected by `dependsOn`, and copies connected by `atOnce`, in file order."""
    leader = {gang.name: gang.name for gang in gangs}

    def first(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for gang in gangs:
        for other in (*gang.after, *filter(None, (gang.previous,))):
            leader[first(gang.name)] = first(other)
    by_first: dict[str, list[GangPlan]] = {}
    for gang in gangs:
        by_first.setdefault(first(gang.name), []).append(gang)
    return [tuple(family) for family in by_first.values()]


def _made(plan: Plan, copies: list[Family], offer: Offer, target: Target) -> Outcome[tuple[Workload, ...]]:
    """One workload for all copies where the scheduler can have it, otherwise one for each of them."""
    together = _together(plan, copies, offer, target)
    if together and together.value and all(gap.severity == "info" for gap in together.diagnostics):
        return together
    apart = _workloads(plan, copies, offer, target)
    if together and together.value:
        return together if _gravity(together.diagnostics) < _gravity(apart.diagnostics) else apart
    return Outcome(apart.value, (*(together.diagnostics if together else ()), *apart.diagnostics))


def _workloads(plan: Plan, copies: list[Family], offer: Offer, target: Target) -> Outcome[tuple[Workload, ...]]:
    """The workloads of families that are copies of each other. Findings come from the first and the longest name."""
    requested = {gang.gang.workload: gang for gang in copies[0] if gang.gang.workload != "auto"}
    if len(requested) > 1:
        return Outcome(None, (_disagree(requested),))
    serving = serves(copies[0][0].gang)
    kinds = tuple(requested) or (
        _serving(copies[0][0], target) if serving else (*_operated(copies[0], target), *offer.kinds)
    )
    candidates = [candidate for kind in kinds for candidate in _candidates(kind, plan, copies, offer)]
    possible = [each for each in candidates if _supported(each[0], offer, target)] or candidates
    best, least = possible[0], tuple(_gaps(possible[0], plan, offer, target))
    lost = [gap for gap in least if gap.severity != "info"] if best[0].kind == MPIJOB else least
    for candidate in possible[1:] if lost else ():
        gaps = tuple(_gaps(candidate, plan, offer, target))
        if _gravity(gaps) < _gravity(least):
            best, least = candidate, gaps
    if candidates[0] is not possible[0]:
        if serving and _gravity(least)[0]:  # no other kind is a way out
            preferred = [each for each in candidates if each[0].kind == candidates[0][0].kind]
            named = [(each, tuple(_gaps(each, plan, offer, target))) for each in preferred]
            best, least = min((*named, (best, least)), key=lambda pair: _gravity(pair[1]))
        notes = _why_not(candidates[0][0], offer, target) if best[0].kind != candidates[0][0].kind else ()
        least = tuple(gap if gap.severity == "info" else gap._replace(notes=notes) for gap in least)
    return Outcome(best if _known(best[0], offer, target) else None, (*least, *_probes(best[0], target)))


def _operated(family: Family, target: Target) -> tuple[str, ...]:
    """MPIJobs for gangs with a launcher, if the topology has mpi-operator."""
    launched = all(pods.spec.launcher for gang in family for pods in all_pods(gang.root))
    return (MPIJOB,) if launched and target.versions.get("mpiOperator") else ()


def _serving(gang: GangPlan, target: Target) -> tuple[str, ...]:
    """The kinds of services to try: a Deployment only for copies of one pod, Grove only if the topology names it."""
    single = sum(pods.total for pods in all_pods(gang.root)) == 1
    left_out = {*(() if single else (SINGLE,)), *(() if target.versions.get("grove") else (GROVE,))}
    return tuple(kind for kind in SERVING if kind not in left_out)


def _candidates(kind: str, plan: Plan, copies: list[Family], offer: Offer) -> Iterator[tuple[Workload, ...]]:
    """The workloads of one kind: one for all copies of a service, or one for each family of gangs.

    Pods of one template can claim from only one ComputeDomain, so copies with one each are workloads of their own. The
    copies of a service whose number varies are always one workload.
    """
    folds = kind in (*offer.folds, *CONTROLLED)
    folded = [tuple(fold(gang, kind == GROVE) for gang in family) if folds else family for family in copies]
    if kind == MPIJOB:
        from bayplan.kube.kinds import mpijob  # few workflows need it

        folded = [tuple(map(mpijob.split, family)) for family in folded]
    every = tuple(gang for family in folded for gang in family)
    first = every[0]
    varying = kind != STATEFULSET and (varies(first.gang) or (kind == GROVE and makes_channels(plan.topology)))
    if (
        kind in SERVING
        and (kind != STATEFULSET or len(every) == 1)
        and (varying or len(every) == 1 or not first.compute_domains)
    ):
        yield (Workload(kind, base_name(plan.workflow, first.gang), every),)
    if kind not in SERVING or not (varying or len(every) == 1):
        yield tuple(Workload(kind, _name(plan, family), family) for family in folded)


# All copies of a gang as one object: an Indexed Job whose pods are the copies, or a job array of Slurm. If other gangs
# wait for the copies, or the copies for them, the Job is in their JobSet.


def _together(plan: Plan, copies: list[Family], offer: Offer, target: Target) -> Outcome[tuple[Workload, ...]] | None:
    """The workload whose one object makes the copies of a gang, with its gaps; None if each copy has its own.

    An outcome without a value has the reason why the scheduler needs an object for each copy.
    """
    folded = _folded(
        plan, copies[0] if len(copies) == 1 else tuple(gang for family in copies for gang in family), offer
    )
    if folded is None:
        return None
    kind, gangs = folded
    if kind in offer.folds:
        gangs = tuple(map(fold, gangs))
    for gang in (each for each in gangs if each.copies > 1):
        feature = LIMITED if gang.gang.at_once or kind == JOBSET else UNLIMITED  # a JobSet starts as a whole anyway
        key = "matrix" if gang.gang.rows else "replicas"
        need = Need(feature, gang.copies, (*gang.route, key), subject=f'gang "{gang.gang.name}"')
        row = find_row(need, offer.rows, target)
        if row is None or row.fidelity == "absent":
            return None
        if row.fidelity == "approximate":
            return Outcome(None, tuple(compare((need,), offer.rows, target, offer.name, offer.features)))
    workload = Workload(kind, gangs[0].name if len(gangs) == 1 else _name(plan, gangs), gangs)
    if not _supported(workload, offer, target):
        return None
    own = tuple(compare(offer.needs(plan, workload), offer.rows, target, offer.name, offer.features))
    if own and kind != JOBSET:
        return Outcome(None, tuple(gap for gap in own if gap.severity == "info"))
    gaps = tuple(_gaps((workload,), plan, offer, target))
    return None if kind != JOBSET and any(gap.severity != "info" for gap in gaps) else Outcome((workload,), gaps)


def _folded(plan: Plan, family: Family, offer: Offer) -> tuple[str, Family] | None:
    """The kind of the one object, and the gangs with all copies of each folded into one."""
    if not any(gang.gang.replicas > 1 for gang in family):
        return None
    if SBATCH in offer.kinds:
        return SBATCH, _renamed_copies(plan, family, family, lambda gang: gang)
    kind = JOB if len({gang.route for gang in family}) == 1 else JOBSET
    requested = {gang.gang.workload for gang in family} <= {"auto", kind}
    folded = [gang for gang in once(family) if gang.gang.replicas > 1 and _indexed(gang)]
    if kind not in offer.kinds or not requested or not folded:
        return None
    return kind, _renamed_copies(plan, family, folded, _one_podset)


def _renamed_copies(
    plan: Plan, family: Family, folded: Sequence[GangPlan], fold_copies: Callable[[GangPlan], GangPlan]
) -> Family:
    """Each folded gang once. What waited for its copies waits for their one object."""
    routes = {gang.route for gang in folded}
    bases = {gang.name: base_name(plan.workflow, gang.gang) for gang in family if gang.route in routes}
    left = {gang.route if gang.route in routes else gang.name: gang for gang in reversed(family)}

    def made(gang: GangPlan) -> GangPlan:
        gang = gang._replace(after=tuple(dict.fromkeys(bases.get(name, name) for name in gang.after)))
        if gang.route not in routes:
            return gang
        name = bases[gang.name]
        root = edit_unit(gang.root, pods=lambda pods: _led(pods, name))
        own = gang._replace(name=name, previous="", copies=gang.gang.replicas, root=root)
        return fold_copies(own) if own.copies > 1 else own

    return tuple(map(made, reversed(left.values())))


def _led(pods: Pods, gang: str) -> Pods:
    """The pods with their rank 0 in a gang of that name."""
    ranks = pods.ranks
    return pods._replace(ranks=ranks and ranks._replace(master=ranks.master._replace(gang=gang)))


def _one_podset(gang: GangPlan) -> GangPlan:
    """The gang as one podSet with a pod for each copy, of which one is enough to start. No level is for all copies."""
    root = edit_unit(
        gang.root,
        unit=lambda unit: unit._replace(required="", preferred=""),
        pods=lambda pods: pods._replace(replicas=gang.copies, minimum=1),
    )
    return gang._replace(root=root)


def _indexed(gang: GangPlan) -> bool:
    """Whether the copies can be pods of one Indexed Job: a pod each, which nothing outside of the copy knows.

    `backoffLimitPerIndex` needs `restartPolicy: Never`, and no action of a pod failure policy starts an index again
    without counting it (batch/v1 validation, Kubernetes 1.32 to 1.37). With a matrix, a shell starts the command.
    """
    each = list(all_pods(gang.root))
    spec, own = each[0].spec, gang.gang
    return (
        len(each) == 1
        and each[0].replicas == each[0].minimum == 1
        and spec.restart_policy == "Never"
        and own.barrier == "none"
        and not (own.hosts or gang.compute_domains or spec.launcher or spec.restart_gang_on_exit_codes)
        and not (spec.fabric and spec.fabric.address)
        and not serves(own)
        and not (own.rows and _needs_literals(spec))
    )


def _needs_literals(spec: PodSet) -> bool:
    """Whether something beside the command of the main container may refer to a matrix, or there is no command."""
    beside = spec.init_containers or spec.sidecars or any(spec.data) or containers(spec.template)
    probes = spec.startup_probe or spec.readiness_probe or spec.liveness_probe
    return bool(beside or probes or not spec.command)


def with_shared_objects(plan: Plan, shape: Shape) -> Plan:
    """The plan with the gangs of the shape whose copies share one object, instead of these copies."""
    shaped = [gang for each in shape.workloads for gang in each.gangs]
    shared = {gang.route: gang for gang in shaped if gang.copies > 1}
    if not shared:
        return plan
    after = {gang.name: gang.after for gang in shaped}
    gangs = {
        gang.route if gang.route in shared else gang.name: shared.get(gang.route)
        or gang._replace(after=after[gang.name])
        for gang in plan.gangs
    }
    return plan._replace(gangs=tuple(gangs.values()))


def without_waiting(plan: Plan, shape: Shape) -> Plan:
    """The plan whose copies do not wait for each other where one object makes them: it limits them by itself."""
    shared = {gang.route for each in shape.workloads for gang in each.gangs if gang.copies > 1}
    return plan._replace(gangs=tuple(g._replace(previous="") if g.route in shared else g for g in plan.gangs))


def _known(workload: Workload, offer: Offer, target: Target) -> bool:
    """Whether the kind exists and the scheduler supports it at least in part. Otherwise nobody can accept the gap."""
    return workload.kind in KINDS and (workload.kind in offer.kinds or _supported(workload, offer, target))


def _supported(workload: Workload, offer: Offer, target: Target) -> bool:
    """Whether the scheduler supports the kind at least in part."""
    row = _kind_row(workload, offer, target)
    return row is not None and row.fidelity != "absent"


def _kind_row(workload: Workload, offer: Offer, target: Target) -> Support | None:
    """The row that decides whether the scheduler supports the kind."""
    if workload.kind in CONTROLLED:
        from bayplan.model.existing import SINGLE_PODS  # only few workflows need it

        placed = SINGLE_PODS if workload.kind == SINGLE else workload.kind
        return find_row(Need(f"place-{placed}", 1, ()), offer.placed, target)
    return find_row(_kind_need(workload), offer.rows, target)


def _why_not(workload: Workload, offer: Offer, target: Target) -> tuple[Note, ...]:
    """The reason why the scheduler does not support the kind that bayplan prefers."""
    row = _kind_row(workload, offer, target)
    return (Note(f"a {KINDS[workload.kind].TITLE} is not possible: {row.reason}"),) if row and row.reason else ()


def _gravity(gaps: Sequence[Diagnostic]) -> tuple[int, int]:
    """The key to compare kinds: fewer errors are better, then fewer gaps."""
    return sum(gap.severity == "error" for gap in gaps), len(gaps)


def _name(plan: Plan, family: Family) -> str:
    """A gang's own name, or that of the first of its copies. Otherwise that of the workflow, or of the first gang.

    The whole workflow decides, so that `--gang` does not change a name.
    """
    if len({gang.gang.name for gang in family}) == 1:
        return family[0].name
    tied = {name for gang in plan.workflow.gangs for name in (gang.name, *gang.depends_on) if gang.depends_on}
    gangs = {gang.gang.name for gang in family}
    return plan.workflow.name if _connected(plan.workflow, gangs) >= tied else family[0].name


def _connected(workflow: Workflow, names: set[str]) -> set[str]:
    """All gangs of the workflow that `dependsOn` connects to these."""
    pairs = [{gang.name, other} for gang in workflow.gangs for other in gang.depends_on]
    reached = set(names)
    while more := {name for pair in pairs if pair & reached for name in pair} - reached:
        reached |= more
    return reached


def _disagree(requested: Mapping[str, GangPlan]) -> Diagnostic:
    last = list(requested.values())[-1]
    kinds = ", ".join(f'"{gang.gang.name}" {kind}' for kind, gang in requested.items())
    hint = "set the same `workload` on all of them, or render them separately with `--gang`"
    message = f"gangs that `dependsOn` connects share one workload, but they set different kinds: {kinds}"
    return error("P513", (*last.route, "workload"), message, hint=hint)


def _gaps(workloads: tuple[Workload, ...], plan: Plan, offer: Offer, target: Target) -> Iterator[Diagnostic]:
    kind = KINDS.get(workloads[0].kind)
    own = tuple(_own_gaps(workloads, kind, plan, offer, target)) if kind else ()
    if workloads[0].kind in CONTROLLED:
        placing = tuple(_placing_gaps(workloads[0], offer, target))
        wrong = any(gap.severity == "error" and gap.code in ("F740", "F781") for gap in (*placing, *own))
        yield from (gap for gap in placing if not (wrong and gap.code == "F741"))  # another kind decides about groups
        yield from compare(offer.needs(plan, workloads[0]), offer.rows, target, offer.name, offer.features)
    else:
        needs = (_kind_need(workloads[0]), *offer.needs(plan, workloads[0]))
        yield from compare(needs, offer.rows, target, offer.name, offer.features)
    yield from own


def _placing_gaps(workload: Workload, offer: Offer, target: Target) -> Iterator[Diagnostic]:
    """What the scheduler's support for workloads of others lacks."""
    from bayplan.model.existing import FEATURES as PLACING  # only few workflows need them

    for need in offer.placing(workload):
        hint = OWN_HINTS.get(need.feature.partition("-")[0], "")
        gaps = compare((need,), offer.placed, target, offer.name, PLACING)
        yield from (gap._replace(hint=hint or gap.hint) for gap in gaps)


def _own_gaps(
    workloads: tuple[Workload, ...], kind: Kind, plan: Plan, offer: Offer, target: Target
) -> Iterator[Diagnostic]:
    """What the kind's support lacks."""
    for need in _needs(workloads, kind, plan):
        hint = _fewer(workloads[0], need, kind, offer, target) if need.feature == "depends-on" else ""
        gaps = compare((need,), kind.SUPPORT, target, _titled(kind))
        yield from (gap._replace(hint=hint or gap.hint) for gap in gaps)


def _fewer(workload: Workload, need: Need, kind: Kind, offer: Offer, target: Target) -> str:
    """The `atOnce` with which a gang waits for few enough copies of another: the last ones wait for all others."""
    rows = (find_row(need._replace(amount=each), kind.SUPPORT, target) for each in range(1, need.amount))
    most = sum(row is not None and row.fidelity == "exact" for row in rows)
    gangs = {gang.name: gang for gang in workload.gangs}
    waiting = next(gang for gang in workload.gangs if gang.route == need.route[:-1])
    before = predecessors(waiting, gangs)
    for gang in once(before):
        own = len(awaited(gang))
        room = most - need.amount + own * sum(other.route == gang.route for other in before)
        if gang.gang.replicas > 1 and room >= own and most and CHAINED not in offer.features:
            less = f'set `atOnce` of gang "{gang.gang.name}" to at most {room // own}'
            return f"{less}, or render the gangs separately with `--gang NAME`"
    return ""


def _kind_need(workload: Workload) -> Need:
    gang = workload.gangs[0]
    pieces = sum(1 for _ in instances(workload))
    return Need(f"workload-{workload.kind}", pieces, (*gang.route, "workload"), subject=f'gang "{gang.gang.name}"')


def _needs(workloads: tuple[Workload, ...], kind: Kind, plan: Plan) -> Iterator[Need]:
    family = workloads[0].gangs
    by_name = {gang.name: gang for gang in family}
    for gang in once(reversed(family)):
        yield from kind_needs(gang, by_name, plan.workflow.cleanup)
    if workloads[0].kind in CONTROLLED:
        yield from _template_needs(family[0], workloads[0].kind)
        rolls = workloads[0].kind in SERVING and workloads[0].kind != STATEFULSET
        if rolls and len(workloads) > 1 and family[0].gang.rollout:
            yield Need("rollout-apart", 1, (*family[0].route, "rollout"), subject=f'gang "{family[0].gang.name}"')
    names = (
        (kind.longest_name(workload, gang, pods), pods.route)
        for workload in workloads
        for gang, pods in instances(workload)
    )
    name, route = max(names, key=lambda named: len(named[0]))
    yield Need("pod-name-length", len(name), route, subject=f'the pod name "{name}"')


def _template_needs(gang: GangPlan, kind: str) -> Iterator[Need]:
    """What a kind with one pod template for each role needs of a copy: few podSets, of which the first is the leader,
    and all of their pods."""
    from bayplan.kube.kinds.podcliqueset import mixes_versions  # only few workflows need it

    subject, parts = f'gang "{gang.gang.name}"', list(all_pods(gang.root))
    if kind == MPIJOB:
        from bayplan.kube.kinds import mpijob

        if not mpijob.complete(gang):
            yield Need("one-launcher", 1, (*gang.route, "workload"), subject=subject)
    if kind in SERVING and not serves(gang.gang):
        yield Need("end", 1, (*gang.route, "workload"), subject=subject)
    if kind == SINGLE:
        yield Need("pods-a-copy", sum(pods.total for pods in parts), gang.route, subject=subject)
        if gang.gang.hosts:
            yield Need("pod-names", 1, (*gang.route, "hosts"), subject=subject)
        return
    if kind in SERVING and one_version(gang) and not (kind == GROVE and not mixes_versions(gang)):
        yield Need("new-versions", 1, (*gang.route, "workload"), subject=subject)
    yield Need("pod-templates", len(parts), gang.route, subject=subject)
    if len(parts) == 2 and kind != STATEFULSET:  # which has one template
        yield Need("leader", parts[0].total, parts[0].route, subject=f'podSet "{parts[0].spec.name}"')
    if kind in SERVING and any(pods.ranks and pods.ranks.each for pods in parts):
        yield Need("separate-ranks", 1, (*gang.route, "rendezvous"), subject=subject)
    units = [units for unit in walk(gang.root) for units in unit.groups if units.optional]
    for optional in {each.route: each for each in units}.values():
        yield Need("missing-pods", 1, (*optional.route, "minReplicas"), subject=f'group "{optional.name}"')
    for pods in once(each for each in parts if each.elastic):
        yield Need("missing-pods", 1, (*pods.route, "minReplicas"), subject=f'podSet "{pods.spec.name}"')


def _probes(workload: Workload, target: Target) -> Iterator[Diagnostic]:
    """F785 for podSets of which one probe is about rank 0 and other ranks. It does not decide the kind: often all ranks
    pass the probe. The kubelet ends a container that fails a startup or liveness probe (Kubernetes 1.37,
    pkg/kubelet/kuberuntime/kuberuntime_manager.go, `computePodActions`)."""
    gang = workload.gangs[0]
    if workload.kind not in SERVING:
        return
    alike = once(pods for pods in all_pods(gang.root) if _has_rank_0_and_others(pods))
    for pods in alike:
        if keys := [f"`{key}`" for key in ("startupProbe", "livenessProbe") if has_probe(pods.spec, key)]:
            message = f"the kubelet ends each container whose {' or '.join(keys)} fails"
            message = f'podSet "{pods.spec.name}": {message}, as on other ranks than 0 if only rank 0 serves requests'
            yield warning("F785", pods.route, message, hint=READY_RANKS)
    if workload.kind not in ("lws", GROVE):
        return
    copies = most_copies(gang.gang, len(workload.gangs))
    asked = (pods for pods in alike if has_probe(pods.spec, "readinessProbe"))
    needs = (Need("ready-ranks", copies, pods.route, subject=f'podSet "{pods.spec.name}"') for pods in asked)
    kind = KINDS[workload.kind]
    yield from compare(needs, kind.SUPPORT, target, _titled(kind))


def _has_rank_0_and_others(pods: Pods) -> bool:
    ranks = pods.ranks
    return ranks is not None and ranks.first == 0 and (pods.replicas if ranks.each else pods.total) > 1


def _titled(kind: Kind) -> str:
    """`a JobSet`, `an MPIJob`."""
    return f"{'an' if kind.TITLE.startswith('MPI') else 'a'} {kind.TITLE}"
