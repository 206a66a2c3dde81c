"""What manifests that exist already request of their scheduler: values between its reader and the planner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.core.phrases import count
from bayplan.kube import quantity
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL
from bayplan.kube.objects import get, group, items, kind, mapping, name, namespace, text, title
from bayplan.model.augment import Late
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Pool


class PodsFound(NamedTuple):
    """Identical pods of a workload. `pool`: the one that they probably run in.

    `name`: of their podSet instance, by the labels of bayplan or, without them, of the pod template.
    `route`: that of the pod template. `size`: pods of each of the alike sets that the controller makes. `slot`: the
    name of the pod template. `made`: the scheduler for which a controller makes their PodGroup. `late`: why they do not
    all start together.
    """

    name: str
    replicas: int
    template: Mapping[str, Any]
    workload: Object
    route: Route
    pool: Pool | None = None
    size: int = 0
    slot: str = ""
    made: str = ""
    late: Late | None = None

    def label(self, key: str) -> str:
        """A label of the pods; empty if they have none."""
        return text(self.template, "metadata", "labels", key)

    def annotation(self, key: str) -> str:
        """An annotation of the pods; empty if they have none."""
        return text(self.template, "metadata", "annotations", key)

    def own(self, key: str) -> str:
        """A label or an annotation of the pods or of their workload; empty if none has it."""
        data = self.workload.data
        places = ((self.template, "labels"), (self.template, "annotations"), (data, "labels"), (data, "annotations"))
        return next(filter(None, (text(each, "metadata", word, key) for each, word in places)), "")

    @property
    def scheduler(self) -> str:
        """The scheduler that the pods name, or that a Volcano Job names for them."""
        return text(self.template, "spec", "schedulerName") or text(self.workload.data, "spec", "schedulerName")


def requests(found: PodsFound) -> Mapping[str, int]:
    """Thousandths of what one of the pods requests; nothing if a value is not valid, which other rules report."""

    def asks(container: Any) -> Mapping[str, int]:
        listed = (mapping(container, "resources", key) for key in ("limits", "requests"))
        return quantity.amounts({str(name): each for part in listed for name, each in part.items()})

    spec = mapping(found.template, "spec")
    containers, before = (
        [each for each in items(spec, key) if mapping(each)] for key in ("containers", "initContainers")
    )
    try:
        return quantity.of_containers(containers, before, asks)
    except ValueError:
        return {}


class Step(NamedTuple):
    """A unit around pods; levels are node labels. Without a name, pods are divided into units of `size` by rank.

    `least`: how many of the units with the same name but another number must start; 0: all.
    """

    name: str = ""
    required: str = ""
    preferred: str = ""
    size: int = 0
    least: int = 0


class Asked(NamedTuple):
    """What pods request of their scheduler. `way`: the units around them, the gang first, which has no name.

    `gang`: the name of the gang; `route`: the place of the request; `least`: how many of the pods must start.

    What must exist before the scheduler starts one of them: `waits` pods of their `unit` (0: they have no gang; None:
    all), in `units` units of the gang (0: all). `alive`: pods that ended do not count. `stated`: the manifests have the
    number, at `field`.
    """

    gang: str
    route: Route
    way: tuple[Step, ...] = (Step(),)
    least: int | None = None
    queue: str = ""
    waits: int | None = None
    unit: str = ""
    units: int = 0
    alive: bool = False
    stated: bool = False
    field: Route = ()


class Beside(NamedTuple):
    """All objects of a run, the pods in them, and the cluster. `kinds`: the objects by API group, kind and name."""

    objects: Sequence[Object]
    pods: Sequence[PodsFound]
    topology: ClusterTopology
    target: Target
    kinds: Mapping[tuple[str, str, str], Sequence[Object]]
    known: dict[Any, dict[Any, list[PodsFound]]]

    def find(self, api: str, what: str, found: PodsFound, called: str) -> Object | None:
        """The object of a name in the namespace of pods."""
        where, named = namespace(found.workload), self.kinds.get((api, what, called), ())
        return next((one for one in named if not where or namespace(one) in ("", where)), None)

    def sharing(self, found: PodsFound, same: Callable[[PodsFound], object]) -> list[PodsFound]:
        """The pods of the namespace with the same property."""
        return self.having(same, same(found), namespace(found.workload))

    def having(self, what: Callable[[PodsFound], object], value: object, where: str) -> list[PodsFound]:
        """The pods of a namespace with a property."""
        if what not in self.known:
            groups = self.known.setdefault(what, {})
            for each in self.pods:
                groups.setdefault((namespace(each.workload), what(each)), []).append(each)
        return self.known[what].get((where, value), [])


def beside(objects: Sequence[Object], pods: Sequence[PodsFound], topology: ClusterTopology, target: Target) -> Beside:
    """All objects of a run, which it finds by their names."""
    kinds: dict[tuple[str, str, str], list[Object]] = {}
    for one in objects:
        kinds.setdefault((group(one), kind(one), name(one)), []).append(one)
    return Beside(objects, pods, topology, target, kinds, {})


NO_LEVELS: Mapping[str, str] = {}

Ask = Callable[[PodsFound, Beside], Outcome[Asked] | None]
"""What pods request of one scheduler. None: nothing gives them to this scheduler."""


def missing(found: PodsFound, what: str, called: str) -> Outcome[Asked]:
    """W643: the object that pods name is not there."""
    message = f'the pods of "{found.name}" name the {what} "{called}", which is not in the manifests'
    return Outcome(None, (error("W643", found.route, message, hint=f"add the {what} to the manifests"),))


def unmet(
    group: Object, part: str, wanted: int, field: Route, there: Sequence[tuple[str, int]], called: str, hint: str
) -> Iterator[Diagnostic]:
    """W642: a part of a group that has no pods at all. `there`: the parts that pods name, and how many do."""
    if wanted and not sum(number for name, number in there if name == called):
        message = f"{title(group)} waits for {count(wanted, 'pod')} of the {part}, but no pod in the manifests names it"
        yield error("W642", (*group.route, *field), message, hint=hint)


def minimum_of_only(found: PodsFound, least: int, together: Sequence[PodsFound]) -> int | None:
    """The minimum of pods, if they are the only podSet of a gang that states one number. None for several podSets."""
    total = sum(each.replicas for each in together)
    return least if least < total and len(together) == 1 else None


def of_labels(
    found: PodsFound, required: Mapping[str, str] = NO_LEVELS, preferred: Mapping[str, str] = NO_LEVELS
) -> Asked:
    """The gang and the units that the labels of bayplan name, otherwise the workload. The levels are by unit."""
    names = [""]
    while inner := found.label(f"{GROUP_LABEL}-{len(names)}"):
        names.append(inner)
    names += filter(None, [found.label(GROUP_LABEL)])
    way = tuple(Step(each, required.get(each, ""), preferred.get(each, "")) for each in names)
    return Asked(found.label(GANG_LABEL) or name(found.workload), found.workload.route, way, waits=0)


def single(found: PodsFound, scheduler: str, queue: str) -> Outcome[Asked] | None:
    """The pods of a Deployment that name the scheduler and no group: it places each by itself."""
    mine = found.scheduler == scheduler and kind(found.workload) == "Deployment"
    return Outcome(of_labels(found)._replace(queue=queue)) if mine else None


def first(data: Any, *path: str | int) -> Mapping[str, Any]:
    """The first mapping of a list; empty without one."""
    return mapping(get(data, *path, 0))


def counted(value: str) -> Iterator[int]:
    """The number in a string, if it is above 0 and one that a controller can read (an int32)."""
    if value.isascii() and value.isdigit() and len(value) <= 10 and int(value):
        yield int(value)


def unit_of(term: object) -> tuple[str, str]:
    """The unit whose pods a term of bayplan selects, and the node label. No unit has the name `*`: other pods."""
    labels = mapping(term, "labelSelector", "matchLabels")
    ours = labels and not get(term, "labelSelector", "matchExpressions")
    units = (str(value) for key, value in labels.items() if key != GANG_LABEL)
    return next(units, "") if ours else "*", text(term, "topologyKey")
