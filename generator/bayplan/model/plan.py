"""A workflow bound to a cluster: names, pools and ranks of every group instance, without terms of a scheduler."""

from binascii import crc32
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from bayplan.core.diagnostics import Route
from bayplan.model.topology import AcceleratorKind, ClusterTopology
from bayplan.model.workflow import Accelerator, Gang, PodSet, Workflow, serves

MOST_PODS = 1_000_000
"""Ten times the largest known Kubernetes clusters: a larger number is a typing error."""

MOST_GANGS = 10_000
"""The most gangs of an existing workload. bayplan proves each, and more would take minutes."""


class PodRef(NamedTuple):
    """Pod `number` (from 0) of the podSet instance `pods` (a `Pods.name`) in the gang copy `gang` (its object name)."""

    gang: str
    pods: str
    number: int


class Ranks(NamedTuple):
    """The ranks of a podSet instance in its rendezvous. Pod i has rank `first + i`.

    If instances are folded into one, pod i of copy c has rank `first + c * stride + i`. Its group is
    `group_index + c * group_stride`. `each`: every copy is a separate rendezvous, with its own master.
    """

    master: PodRef
    nodes: int  # number of ranks in the rendezvous
    first: int
    group_index: int
    group_count: int
    group_size: int
    stride: int = 0
    group_stride: int = 0
    each: bool = False


class Pods(NamedTuple):
    """One instance of a podSet with `replicas` identical pods, or several folded instances with that many each."""

    name: str  # unique in the gang: "replica-0-worker"
    template: str  # shared by the instances of one podSet: "replica-worker"
    spec: PodSet  # filled with what `wholeNode` takes from the node
    route: Route
    pool: str
    replicas: int
    minimum: int
    compute_domain: str = ""  # the ComputeDomain (and channel template) its pods claim from
    ranks: Ranks | None = None
    instances: tuple[str, ...] = ()  # the names of folded instances; empty if nothing was folded

    @property
    def copies(self) -> int:
        """The number of instances."""
        return len(self.instances) or 1

    @property
    def total(self) -> int:
        """The pods of all copies."""
        return self.replicas * self.copies

    @property
    def elastic(self) -> bool:
        """Whether the gang may start without some of the pods."""
        return self.minimum < self.replicas


class Unit(NamedTuple):
    """One instance of a gang or group, with the levels its pods must or should share."""

    name: str  # unique in the gang: "replica-0"; "" for the gang itself
    route: Route
    required: str = ""
    preferred: str = ""
    separate: str = ""
    groups: "tuple[Units, ...]" = ()
    pods: tuple[Pods, ...] = ()
    copies: int = 1  # number of instances of its group that are folded into this one, per parent instance


class Units(NamedTuple):
    """All instances of one group below one parent instance."""

    name: str  # unique in the gang: "replica"
    route: Route
    minimum: int
    members: tuple[Unit, ...]

    @property
    def optional(self) -> bool:
        """Whether the gang may start without some of the instances."""
        return self.minimum < len(self.members)


class ComputeDomain(NamedTuple):
    """A ComputeDomain to create for one unit. The channel template has the same name."""

    name: str
    unit: str
    nodes: int
    route: Route


GANG_INDEX, GANG_COUNT = "GANG_INDEX", "GANG_COUNT"
"""Variables of the copies of a gang: the number of the copy, from 0, and how many copies there are."""


class GangPlan(NamedTuple):
    """One copy of one gang. All its objects have names that start with `name`.

    `copies`: how many copies are folded into this one, because one object makes all of them; then `name` has no number,
    and only the index of a pod or of a task says which copy it is. A folded gang in Kubernetes is a podSet with a pod
    for each copy, of which one is enough to start.
    """

    name: str
    gang: Gang
    route: Route
    copy: int
    root: Unit
    compute_domains: tuple[ComputeDomain, ...] = ()
    after: tuple[str, ...] = ()  # object names of the gangs that must complete first
    previous: str = ""  # object name of the copy that must end first (`atOnce`); empty: of none
    copies: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables of the gang's matrix."""
        return tuple(self.gang.rows[0]) if self.gang.rows else ()

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that all containers of this copy have beside those of their podSet; none of a single copy, and
        none of services, whose copies come from one pod template."""
        if serves(self.gang) or (self.gang.replicas == 1 and not self.gang.rows):
            return {}
        index = {} if self.copies > 1 else {GANG_INDEX: str(self.copy)}
        own = self.gang.rows[self.copy] if self.gang.rows and self.copies == 1 else {}
        return {**index, GANG_COUNT: str(self.gang.replicas), **own}


def predecessors(gang: GangPlan, gangs: Mapping[str, GangPlan]) -> list[GangPlan]:
    """The gangs that a gang waits for itself. Others end before these: a copy that waits for another copy (`atOnce`)
    starts after all gangs that the other one waited for.
    """
    names = (gang.previous,) if gang.previous in gangs else tuple(name for name in gang.after if name in gangs)
    ended = {earlier for name in names for earlier in (gangs[name].previous, *gangs[name].after)}
    return [gangs[name] for name in names if name not in ended]


def awaited(gang: GangPlan) -> list[Pods]:
    """The podSet instances whose end is the end of the gang: those of its lead, or all."""
    return [pods for pods in all_pods(gang.root) if gang.gang.lead in ("", pods.spec.name)]


# Amounts of a node are thousandths. Besides Kubernetes resource names there are `accelerator:NAME` (cards),
# `imex-channel` (one a node), `whole-node` (one a node) and things of which a node has a fixed number.

ONE = 1000
CHANNEL = "imex-channel"
WHOLE = "whole-node"
SLOTS = "pods"

OPEN = ("cpu", "memory", "ephemeral-storage")
"""Resources that do not limit a pool whose topology does not state them; any other unstated resource is absent."""

BOUNDED = "at-most:"
"""The prefix of things of which a node has a fixed number, which follows: `at-most:1:port 80 of the node`."""


def accelerator(name: str) -> str:
    """The key of an accelerator kind."""
    return f"accelerator:{name}"


class Occupant(NamedTuple):
    """What one workload takes of one node: a workload of others, or one that is planned before this one.

    `amounts` have the names above.
    """

    name: str  # as users know it: "team-b/train-7"
    pods: int
    amounts: Mapping[str, int]


Occupied = Mapping[str, tuple[Occupant, ...]]
"""Node -> what runs there."""


class Plan(NamedTuple):
    """Everything that a backend can read."""

    workflow: Workflow
    topology: ClusterTopology
    namespace: str
    queue: str
    gangs: tuple[GangPlan, ...]
    occupied: Mapping[str, tuple[Occupant, ...]] = {}  # by other workloads; only the proof reads it


def gang_queue(plan: Plan, gang: GangPlan) -> str:
    """The queue of a gang: its own, or that of the plan. Empty if neither is set."""
    return gang.gang.queue or plan.queue


def queue_route(plan: Plan, gang: GangPlan) -> Route:
    """The place that sets the queue of a gang; empty if nothing does."""
    if gang.gang.queue:
        return (*gang.route, "queue")
    default: Route = ("topology", "spec", "defaults", "queue") if plan.topology.defaults.get("queue") else ()
    return ("workflow", "spec", "queue") if plan.workflow.queue else default


def plan_queues(plan: Plan) -> Mapping[str, GangPlan]:
    """The queues of the plan, each with its first gang."""
    return {gang_queue(plan, gang): gang for gang in reversed(plan.gangs) if gang_queue(plan, gang)}


def walk(unit: Unit) -> Iterator[Unit]:
    """The unit and all units below it, parents first, in rank order."""
    yield unit
    for units in unit.groups:
        for member in units.members:
            yield from walk(member)


def name_hash(plan: Plan, gang: GangPlan) -> str:
    """A hash that tells a gang from others of the same name."""
    return f"{crc32('/'.join((plan.namespace, plan.workflow.name, gang.name)).encode()):08x}"


def all_pods(unit: Unit) -> Iterator[Pods]:
    """All podSet instances at and below a unit, in rank order."""
    yield from unit.pods
    for units in unit.groups:
        for member in units.members:
            yield from all_pods(member)


def edit_unit(
    root: Unit,
    unit: Callable[[Unit], Unit] = lambda each: each,
    units: Callable[[Units], Units] = lambda each: each,
    pods: Callable[[Pods], Pods] = lambda each: each,
) -> Unit:
    """The unit with every unit, group and podSet instance at and below it replaced."""

    def inside(one: Unit) -> Unit:
        groups = tuple(each._replace(members=tuple(map(inside, each.members))) for each in map(units, one.groups))
        return unit(one)._replace(groups=groups, pods=tuple(map(pods, one.pods)))

    return inside(root)


def edit_plan(plan: Plan, **edits: Callable[[Any], Any]) -> Plan:
    """The plan with `edit_unit` applied to each of its gangs."""
    return plan._replace(gangs=tuple(gang._replace(root=edit_unit(gang.root, **edits)) for gang in plan.gangs))


def one_version(gang: GangPlan) -> bool:
    """Whether all pods of the gang must run the same version, because some are ranks of one job."""
    return gang.gang.rendezvous != "none" and sum(pods.total for pods in all_pods(gang.root)) > 1


def minimum(unit: Unit, counted: Callable[[Pods], bool] = lambda pods: True) -> int:
    """The fewest counted pods with which a unit may start."""
    groups = (sorted(minimum(member, counted) for member in units.members)[: units.minimum] for units in unit.groups)
    return sum(pods.minimum for pods in unit.pods if counted(pods)) + sum(map(sum, groups))


def has_several_minimums(unit: Unit) -> bool:
    """Whether one number of pods would not show which podSets must be complete."""
    pod_sets = list(all_pods(unit))
    return len(pod_sets) > 1 and any(pods.elastic for pods in pod_sets)


def has_placed_groups(unit: Unit) -> bool:
    """Whether any group below the unit has a required level of its own."""
    return any(each.required for each in walk(unit) if each is not unit)


def title(gang: GangPlan, unit: Unit) -> str:
    """The unit's name for messages: `group "replica"` or `gang "train"`."""
    return f'group "{unit.name.rpartition("-")[0]}"' if unit.name else f'gang "{gang.gang.name}"'


def instance(root: Unit, name: str) -> tuple[Pods, int]:
    """The podSet instance of that name, or the folded instance that contains it, and the number of its copy."""
    holder = next(pods for pods in all_pods(root) if name == pods.name or name in pods.instances)
    return holder, holder.instances.index(name) if name in holder.instances else 0


Placed = TypeVar("Placed", Pods, Unit, GangPlan, ComputeDomain)


def once(instances: Iterable[Placed]) -> list[Placed]:
    """One instance for each gang, group or podSet of the file: the last, in the order of the first ones."""
    return list({each.route: each for each in instances}.values())


def allocator(accelerator: Accelerator, kind: AcceleratorKind) -> str:
    """The requested allocator, otherwise the accelerator's first."""
    return accelerator.allocator or kind.allocators[0]


def uses_dra(pods: Pods, topology: ClusterTopology) -> bool:
    """Whether the pods claim their accelerators through DRA."""
    accelerator = pods.spec.accelerator
    kind = topology.accelerators.get(accelerator.name) if accelerator else None
    return bool(accelerator and kind and allocator(accelerator, kind) == "dra")
