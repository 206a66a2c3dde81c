"""What Kueue is asked for each podSet: one level for the podSet, and levels for slices of it.

Kueue places podSets one by one. A placement that covers one podSet becomes its level, those inside become slices of
it; a placement over two podSets takes a pair, of which one has one pod (Kueue 0.14 to 0.19, `tas_validation.go`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods
from bayplan.planning.intent import level_label
from bayplan.planning.shape import fold

PAIR = 2


class Layer(NamedTuple):
    """Slices of so many pods, each of which must share one domain of a level (a node label)."""

    level: str
    size: int


class Request(NamedTuple):
    """What one podSet asks for; levels are node labels."""

    required: str = ""
    preferred: str = ""
    layers: tuple[Layer, ...] = ()
    together: str = ""  # the name that the two podSets of a pair share


class Part(NamedTuple):
    """A podSet as Kueue sees it, with the instances of the plan that it stands for and the units around each."""

    pods: Pods
    names: tuple[str, ...]
    paths: tuple[tuple[Unit, ...], ...]  # of each instance: the units around it, the gang first

    def around(self) -> Iterator[tuple[Unit, int]]:
        """Units with a placement on the way from the gang to the pods, and how many of each kind there are."""
        for rank in zip(*self.paths, strict=True):
            if rank[0].required or rank[0].preferred:
                yield rank[0], len({unit.name for unit in rank})


class Layout(NamedTuple):
    """The podSets of a gang, and by the name of each unit those that have pods in it."""

    parts: tuple[Part, ...]
    under: Mapping[str, Mapping[str, Part]]

    def inside(self, unit: Unit) -> tuple[Part, ...]:
        """The podSets that have pods in a unit."""
        return tuple(self.under[unit.name].values())

    def carried(self, part: Part) -> Iterator[tuple[Unit, int]]:
        """The placements around a podSet that can be told to Kueue: those over it alone, or over a pair."""
        for unit, count in part.around():
            members = self.inside(unit)
            if len(members) == 1 or is_pair(members):
                yield unit, count


def layout(gang: GangPlan) -> Layout:
    """The podSets of a gang that was not folded yet."""
    paths = {pods.name: path for path in _paths(gang.root, ()) for pods in path[-1].pods}
    folded = [(pods, pods.instances or (pods.name,)) for pods in all_pods(fold(gang).root)]
    made = tuple(Part(pods, names, tuple(paths[name] for name in names)) for pods, names in folded)
    under: dict[str, dict[str, Part]] = {}
    for part in made:
        for unit in (unit for path in part.paths for unit in path):
            under.setdefault(unit.name, {})[part.pods.name] = part
    return Layout(made, under)


def _paths(unit: Unit, above: tuple[Unit, ...]) -> Iterator[tuple[Unit, ...]]:
    path = (*above, unit)
    yield path
    for units in unit.groups:
        for member in units.members:
            yield from _paths(member, path)


def is_pair(members: Sequence[Part]) -> bool:
    """Two podSets that Kueue can keep together: one has one pod, none has slices, and one flavor serves both.

    The units around them are the same, and there is one of each.
    """
    if len(members) != PAIR or all(part.pods.total > 1 for part in members):
        return False
    first, second = ([(unit.name, count) for unit, count in part.around()] for part in members)
    same = first == second and all(count == 1 for _, count in first)
    return same and members[0].pods.pool == members[1].pods.pool


def requests(plan: Plan, gang: GangPlan) -> Mapping[str, Request]:
    """Name of a podSet instance -> what the podSet that it belongs to asks for."""
    everything = layout(gang)
    made = ((part, _request(plan, gang, part, everything)) for part in everything.parts)
    return {name: request for part, request in made for name in (part.pods.name, *part.names)}


def _request(plan: Plan, gang: GangPlan, part: Part, everything: Layout) -> Request:
    own = list(everything.carried(part))
    if not own:
        return Request()
    members = everything.inside(own[-1][0])
    if len(members) == PAIR:  # the innermost placement implies those around it
        unit = next((unit for unit, _ in reversed(own) if unit.required), own[-1][0])
        return _level(plan, part, unit)._replace(together=f"{gang.name}-{members[0].pods.name}")
    outer = own[0][0] if own[0][1] == 1 else None
    top = _level(plan, part, outer) if outer else Request()
    total = part.pods.total
    inner = [(unit, count) for unit, count in own if unit is not outer and unit.required]
    return top._replace(layers=tuple(Layer(_label(plan, part, unit.required), total // n) for unit, n in inner))


def _level(plan: Plan, part: Part, unit: Unit) -> Request:
    """A required level; Kueue refuses a preferred one beside it."""
    if unit.required:
        return Request(required=_label(plan, part, unit.required))
    return Request(preferred=_label(plan, part, unit.preferred))


def _label(plan: Plan, part: Part, level: str) -> str:
    return level_label(plan.topology, part.pods.pool, level)
