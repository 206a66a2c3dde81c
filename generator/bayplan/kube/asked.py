"""What manifests that exist already request of their scheduler: values between its reader and the planner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Outcome, Route, error
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL
from bayplan.kube.objects import get, group, kind, mapping, name, namespace, text
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology, Pool


class PodsFound(NamedTuple):
    """Identical pods of a workload. `pool`: the one that they probably run in.

    `name`: of their podSet instance, by the labels of bayplan or, without them, of the pod template.
    `route`: that of the pod template. `size`: pods of each of the alike sets that the controller makes.
    """

    name: str
    replicas: int
    template: Mapping[str, Any]
    workload: Object
    route: Route
    pool: Pool | None = None
    size: int = 0

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
    """

    gang: str
    route: Route
    way: tuple[Step, ...] = (Step(),)
    least: int | None = None
    queue: str = ""


class Beside(NamedTuple):
    """All objects of a run, the pods in them, and the cluster."""

    objects: Sequence[Object]
    pods: Sequence[PodsFound]
    topology: ClusterTopology

    def find(self, api: str, what: str, found: PodsFound, called: str) -> Object | None:
        """The object of a name in the namespace of pods."""
        named = (one for one in self.objects if (group(one), kind(one), name(one)) == (api, what, called))
        where = namespace(found.workload)
        return next((one for one in named if not where or namespace(one) in ("", where)), None)

    def sharing(self, found: PodsFound, same: Callable[[PodsFound], object]) -> list[PodsFound]:
        """The pods of the namespace with the same property."""
        return [
            each
            for each in self.pods
            if same(each) == same(found) and namespace(each.workload) == namespace(found.workload)
        ]


NO_LEVELS: Mapping[str, str] = {}

Ask = Callable[[PodsFound, Beside], Outcome[Asked] | None]
"""What pods request of one scheduler. None: nothing gives them to this scheduler."""


def missing(found: PodsFound, what: str, called: str) -> Outcome[Asked]:
    """W643: the object that pods name is not there."""
    message = f'the pods of "{found.name}" name the {what} "{called}", which is not in the manifests'
    return Outcome(None, (error("W643", found.route, message, hint=f"add the {what} to the manifests"),))


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
    return Asked(found.label(GANG_LABEL) or name(found.workload), found.workload.route, way)


def single(found: PodsFound, scheduler: str, queue: str) -> Outcome[Asked] | None:
    """The pods of a Deployment that name the scheduler and no group: it places each by itself."""
    mine = found.scheduler == scheduler and kind(found.workload) == "Deployment"
    return Outcome(of_labels(found)._replace(queue=queue)) if mine else None


def first(data: Any, *path: str | int) -> Mapping[str, Any]:
    """The first mapping of a list; empty without one."""
    return mapping(get(data, *path, 0))


def counted(value: str) -> Iterator[int]:
    """The number in a string, if it is above 0."""
    if value.isascii() and value.isdigit() and int(value):
        yield int(value)


def unit_of(term: object) -> tuple[str, str]:
    """The unit whose pods a term of bayplan selects, and the node label. No unit has the name `*`: other pods."""
    labels = mapping(term, "labelSelector", "matchLabels")
    ours = labels and not get(term, "labelSelector", "matchExpressions")
    units = (str(value) for key, value in labels.items() if key != GANG_LABEL)
    return next(units, "") if ours else "*", text(term, "topologyKey")
