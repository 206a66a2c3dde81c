"""What of a gang's placement one network-topology-spec can say, and what it cannot.

Koordinator plans all pods of a gang at once (network_topology_solver.go, 1.7 and 1.8):

1. It looks for the *deepest* domain with room for all of them, below the deepest layer that is `MustGather`. So the
   required level of the whole gang holds, and any preferred one holds wherever it can.
2. It deals nodes out domain by domain, and since 1.8 every domain of a layer with `podCountMultiple: n` gets a multiple
   of n pods.
3. It sorts the pods by name and gives them the nodes in that order.

Where the names of each group's pods stand together and every group has n pods, 2 and 3 keep each group in one domain
of that layer: the n-th pods start a domain. Several groups may share a domain, as everywhere in bayplan. This holds for
several such layers at once, because the pods of an outer group are a multiple of those of an inner one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.accelerators import allocator
from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, once, walk


class Gather(NamedTuple):
    """A gang's placement by level name. `multiples` are coarse to fine as the groups nest: level -> pods a group."""

    required: str
    preferred: str
    multiples: Mapping[str, int]

    @property
    def placed(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.required or self.preferred or self.multiples)

    @property
    def strict(self) -> bool:
        """Whether a level must hold."""
        return bool(self.required or self.multiples)


def gather(plan: Plan, gang: GangPlan) -> Gather:
    """What is said of a gang: the deepest level around all of its pods, and the multiples of the groups inside.

    A preference is not worth a gang that never starts: where the planner would miscount, it is not told of one.
    """
    if only_preferred(gang) and miscounted(plan, gang):
        return Gather("", "", {})
    whole = list(covering(gang.root))
    required = next((unit.required for unit in reversed(whole) if unit.required), "")
    preferred = next((unit.preferred for unit in reversed(whole) if unit.preferred), "")
    inner = {level: sizes[0] for level, sizes in inner_sizes(gang).items() if _alike(gang, sizes)}
    return Gather(required, "" if preferred == required else preferred, inner)


def only_preferred(gang: GangPlan) -> bool:
    """Whether nothing of the gang has a required level."""
    return not any(unit.required for unit in walk(gang.root))


def miscounted(plan: Plan, gang: GangPlan) -> bool:
    """Whether the planner's count of free places comes out wrong for this gang."""
    return bool(unlike_pods(plan, gang) or left_out(gang) or any(by_claim(plan, pods) for pods in all_pods(gang.root)))


def left_out(gang: GangPlan) -> int:
    """How many pods the gang may start without."""
    return sum(pods.replicas - pods.minimum for pods in all_pods(gang.root))


def unlike_pods(plan: Plan, gang: GangPlan) -> bool:
    """Whether a node has room for another number of pods, depending on which of the gang they are."""
    return len({_room(plan, pods) for pods in once(all_pods(gang.root))}) > 1


def _room(plan: Plan, pods: Pods) -> object:
    """What decides how many fit on a node. A pod that takes more than half of its cards has the node for itself."""
    asked, pool = pods.spec.accelerator, plan.topology.pool(pods.pool)
    if asked and pool and 2 * asked.per_pod > pool.node.accelerators:
        return pods.pool
    return pods.pool, asked, tuple(sorted(pods.spec.resources.items())), pods.spec.fabric


def by_claim(plan: Plan, pods: Pods) -> bool:
    """Whether the pods' GPUs are claimed through DRA."""
    asked = pods.spec.accelerator
    return bool(asked and allocator(asked, plan.topology.accelerators[asked.name]) == "dra")


def covering(root: Unit) -> Iterator[Unit]:
    """The units that hold all pods of the gang: the gang, and groups that are alone in what is around them."""
    yield root
    if len(root.groups) == 1 and len(root.groups[0].members) == 1:
        yield from covering(root.groups[0].members[0])


def inner_sizes(gang: GangPlan) -> dict[str, list[int]]:
    """Level -> the pods of each group that requires it."""
    found: dict[str, list[int]] = {}
    for unit in held(gang):
        found.setdefault(unit.required, []).append(size(unit))
    return found


def held(gang: GangPlan) -> Iterator[Unit]:
    """The parts of the gang with a level that nothing around them requires already, parents first."""
    whole = list(covering(gang.root))
    return (unit for unit in _held(whole[-1], frozenset(each.required for each in whole)))


def _held(unit: Unit, around: frozenset[str]) -> Iterator[Unit]:
    for units in unit.groups:
        for member in units.members:
            if member.required and member.required not in around:
                yield member
            yield from _held(member, around | {member.required})


def parts(root: Unit) -> list[Unit]:
    """The units that hold a part of the gang, parents first."""
    whole = list(covering(root))
    return list(walk(whole[-1]))[1:]


def size(unit: Unit) -> int:
    """How many pods a unit has."""
    return sum(pods.replicas for pods in all_pods(unit))


def unlike(gang: GangPlan) -> bool:
    """Whether a multiple cannot keep the groups of some level whole."""
    return any(not _alike(gang, sizes) for sizes in inner_sizes(gang).values())


def _alike(gang: GangPlan, sizes: list[int]) -> bool:
    """One size, and no pods beside the groups."""
    return len(set(sizes)) == 1 and sum(sizes) == size(gang.root)


def mixed_names(gang: GangPlan) -> str:
    """The level of groups whose pods do not stand together when all pods of the gang are sorted by name, if any.

    In every kind a pod is called `<gang, or JobSet and gang>-<podSet instance>-<numbers>`, and "-" sorts before letters
    and digits, so the order of the podSet instances' names decides. Only where one name goes on with a number where
    another ends, their pods run into each other.
    """
    for level in inner_sizes(gang):
        units = [unit for unit in held(gang) if unit.required == level]
        owner = {pods.name + "-": unit.name for unit in units for pods in all_pods(unit)}
        if mixed(owner):
            return level
    return ""


def mixed(owner: Mapping[str, str]) -> bool:
    """Whether pods of one owner come between those of another. The keys: what the names of their pods begin with."""
    names = sorted(owner)
    begun: set[str] = set()
    for before, name in zip(("", *names), names, strict=False):
        if owner.get(before) == owner[name]:
            continue
        runs_on = bool(before) and name.startswith(before) and name[len(before)].isdigit()
        if owner[name] in begun or runs_on:
            return True
        begun.add(owner[name])
    return False
