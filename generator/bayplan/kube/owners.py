"""Which scheduler a workload belongs to: the labels, annotations, fields and objects that only this scheduler reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Route, error
from bayplan.kube.cards import meets
from bayplan.kube.objects import get, group, kind, mapping, name, namespace, text, title
from bayplan.kube.templates import templates_in
from bayplan.model.augment import Path
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology

ObjectKind = tuple[str, str]


class Owner(NamedTuple):
    """What hands workloads to one scheduler.

    `scheduler`: its `schedulerName`; `keys`: its labels and annotations, where one that ends with `/` is a prefix;
    `names`: a key, or a field of a pod's spec -> API group and kind of the object that its value names.
    """

    title: str
    scheduler: str = ""
    keys: tuple[str, ...] = ()
    names: Mapping[str | Path, ObjectKind] = {}


POD_GROUP = "PodGroup"

OWNERS: Mapping[str, Owner] = {
    "kai": Owner(
        "KAI",
        "kai-scheduler",
        ("kai.scheduler/", "runai/"),
        {"pod-group-name": ("scheduling.run.ai", POD_GROUP)},
    ),
    "volcano": Owner(
        "Volcano",
        "volcano",
        ("scheduling.volcano.sh/", "volcano.sh/", "bayplan.dev/subgroup", "bayplan.dev/subgroup-policy"),
        {"scheduling.k8s.io/group-name": ("scheduling.volcano.sh", POD_GROUP)},
    ),
    "kueue": Owner(
        "Kueue",
        keys=("kueue.x-k8s.io/",),
        names={"kueue.x-k8s.io/prebuilt-workload-name": ("kueue.x-k8s.io", "Workload")},
    ),
    "koordinator": Owner(
        "Koordinator",
        "koord-scheduler",
        ("gang.scheduling.koordinator.sh/", "quota.scheduling.koordinator.sh/"),
        {"pod-group.scheduling.sigs.k8s.io": ("scheduling.sigs.k8s.io", POD_GROUP)},
    ),
    "native": Owner(
        "kube-scheduler's PodGroups",
        names={
            ("schedulingGroup", "podGroupName"): ("scheduling.k8s.io", POD_GROUP),
            ("workloadRef", "name"): ("scheduling.k8s.io", "Workload"),
        },
    ),
    "slurm-bridge": Owner(
        "slurm-bridge",
        "slurm-bridge-scheduler",
        ("slurmjob.slinky.slurm.net/",),
        {"scheduling.x-k8s.io/pod-group": ("scheduling.x-k8s.io", POD_GROUP)},
    ),
    "sunk": Owner("SUNK", "tenant-slurm-slurm-scheduler", ("sunk.coreweave.com/",)),
}
"""Scheduler -> its marks, as its release that bayplan knows reads them (`backends/` cites the sources)."""

ABOVE: Mapping[Path, ObjectKind] = {
    ("spec", "parentCompositePodGroupName"): ("scheduling.k8s.io", "CompositePodGroup"),
    ("spec", "podGroupTemplateRef", "workload", "workloadName"): ("scheduling.k8s.io", "Workload"),
    ("spec", "workloadRef", "workloadName"): ("scheduling.k8s.io", "Workload"),
}
"""Fields by which PodGroups of Kubernetes 1.36 and 1.37 name other objects of the same gang."""

ALSO: Mapping[str, tuple[str, ...]] = {"slurm-bridge": ("native",)}
"""Scheduler -> others whose marks it reads too (slurm-bridge 1.2 and the PodGroups of Kubernetes 1.36)."""

NAMED_BY = "ray.io/scheduler-name"
"""The label by which KubeRay hands a cluster to a scheduler (KubeRay 1.4, controllers/ray/batchscheduler)."""

SUSPENDED: tuple[Path, ...] = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
"""Fields by which Kueue holds back a workload until it admits it."""

MANAGED: tuple[Path, ...] = (("spec", "managedBy"), ("spec", "runPolicy", "managedBy"))
"""Fields that hand a workload to MultiKueue, with the value `kueue.x-k8s.io/multikueue` (Kueue 0.19)."""

FIELDS = ("labels", "annotations")


class Mark(NamedTuple):
    """A label, an annotation or a field that hands a workload to a scheduler. `names`: API group, kind and name of the
    object that it names, if any."""

    owner: str
    object: Object
    path: Path
    names: tuple[str, str, str] | None = None

    @property
    def route(self) -> Route:
        """Its place."""
        return (*self.object.route, *self.path)

    @property
    def shown(self) -> str:
        """`label kueue.x-k8s.io/queue-name`."""
        kinds = [each for each in FIELDS if each in self.path]
        return f"{kinds[-1][:-1]} {self.path[-1]}" if kinds else f"field `{'.'.join(map(str, self.path))}`"


def marks(one: Object, schedulers: Mapping[str, str] = {}) -> Iterator[Mark]:
    """The marks of a workload and of its pod templates. `schedulers`: more values of `schedulerName` -> scheduler."""
    known = {**{row.scheduler: scheduler for scheduler, row in OWNERS.items() if row.scheduler}, **schedulers}
    found = (*_marks(one, known), *_managed(one))
    yield from found
    if any(each.owner == "kueue" for each in found):
        yield from (Mark("kueue", one, path) for path in SUSPENDED if get(one.data, *path) is True)


def _marks(one: Object, schedulers: Mapping[str, str]) -> Iterator[Mark]:
    paths = [template.path for template in templates_in((one,))]
    above = dict.fromkeys(((), *(path[:length] for path in paths for length in range(1, len(path) + 1))))
    for place in above:
        for field in FIELDS:
            at = (*place, "metadata", field)
            for word, value in mapping(one.data, *at).items():
                yield from _by_key(one, (*at, word), str(word), str(value), schedulers)
    named = [(*path, "spec", "schedulerName") for path in paths]
    whole = ("spec", "schedulerName")  # a Volcano Job has a default for its tasks
    for at in named if all(get(one.data, *each) for each in named) else dict.fromkeys((whole, *named)):
        if owner := schedulers.get(text(one.data, *at), ""):
            yield Mark(owner, one, at)
    for path in paths:
        for scheduler, row in OWNERS.items():
            for key, what in row.names.items():
                if isinstance(key, tuple) and get(one.data, *path, "spec", key[0]) is not None:
                    called = text(one.data, *path, "spec", *key)
                    yield Mark(scheduler, one, (*path, "spec", key[0]), (*what, called) if called else None)


def _managed(one: Object) -> Iterator[Mark]:
    return (Mark("kueue", one, path) for path in MANAGED if text(one.data, *path).startswith(OWNERS["kueue"].keys[0]))


def _by_key(one: Object, path: Path, key: str, value: str, schedulers: Mapping[str, str]) -> Iterator[Mark]:
    for scheduler, owner in OWNERS.items():
        if key in owner.names:
            yield Mark(scheduler, one, path, (*owner.names[key], value))
        elif any(key == each or (each.endswith("/") and key.startswith(each)) for each in owner.keys):
            yield Mark(scheduler, one, path)
    if key == NAMED_BY and value in schedulers:
        yield Mark(schedulers[value], one, path)


def foreign(found: Iterable[Mark], scheduler: str) -> tuple[Mark, ...]:
    """The marks of other schedulers than the one that places the workload."""
    own = (scheduler, *ALSO.get(scheduler, ()))
    return tuple(each for each in found if each.owner not in own)


def named_by(found: Iterable[Mark], objects: Sequence[Object]) -> frozenset[Route]:
    """The routes of the objects that marks name, and of those that these name."""
    wanted = {(*mark.names, namespace(mark.object)) for mark in found if mark.names}
    routes: set[Route] = set()
    before = -1
    while wanted and len(routes) > before:
        before = len(routes)
        for one in objects:
            key = (group(one), kind(one), name(one))
            if any(each[:3] == key and meets(namespace(one), each[3]) for each in wanted):
                routes.add(one.route)
                above = ((*what, text(one.data, *path), namespace(one)) for path, what in ABOVE.items())
                wanted.update(each for each in above if each[2])
    return frozenset(routes)


def by_owner(found: Iterable[Mark]) -> Mapping[str, Sequence[Mark]]:
    """The marks of each scheduler, in the order of the workload."""
    groups: dict[str, list[Mark]] = {}
    for each in found:
        groups.setdefault(each.owner, []).append(each)
    return groups


def names(topology: ClusterTopology) -> Mapping[str, str]:
    """The values of `schedulerName` that a topology declares -> their schedulers."""
    return {
        called: name for name, each in topology.schedulers.items() if (called := str(each.get("schedulerName", "")))
    }


MOST_NOTES = 8


def belongs(
    found: Iterable[Mark], instead: str, hint: str, code: str = "A950", notes: Sequence[Note] = ()
) -> Iterator[Diagnostic]:
    """An error for each scheduler to which the marks hand the workload, at the first of them.

    `instead`: who else handles the workload; `hint`: with `{}` for the scheduler's name.
    """
    for owner, own in by_owner(found).items():
        first, *rest = own
        message = f"the {first.shown} gives {title(first.object)} to {OWNERS[owner].title}, but {instead}"
        others = [Note(f"so does the {each.shown}", each.route) for each in rest[:MOST_NOTES]]
        yield error(code, first.route, message, hint=hint.format(owner), notes=(*others, *notes))
