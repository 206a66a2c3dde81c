"""Existing workloads, and their changes by bayplan: values between the clients and the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.model.manifest import Manifest, Object
from bayplan.model.plan import Occupant, Plan
from bayplan.text.document import Document

Path = tuple[str | int, ...]


class Late(NamedTuple):
    """Why pods of a template do not all exist before any of them runs, where, and what to do.

    `after`: the slots that must run first; with `some`, one of them is enough. `first`: how many of the pods do not
    wait for the others; None: all. `last`: how many exist after all others have ended, if fewer than at first. `rolls`:
    only a new version starts pods beside the old ones.
    """

    route: Route
    what: str
    hint: str
    after: tuple[str, ...] = ()
    some: bool = False
    first: int | None = None
    last: int | None = None
    rolls: bool = False


class TemplateSlot(NamedTuple):
    """One pod template of a workload: a podSet whose pods its controller creates.

    `path` leads from the object to the mapping that has `metadata` and `spec`. The controller makes `copies` alike sets
    of `replicas` pods each from it (the Jobs of a replicatedJob), and tells them apart by the pod label `copy_label`.
    `job`: the way to the Job template above the pod template, whose metadata some schedulers read. `numbered`: whether
    the pods carry their number, from 0, so that neighbours are known.
    """

    name: str
    path: Path
    replicas: int
    copies: int = 1
    copy_label: str = ""
    job: Path | None = None
    numbered: bool = True
    group: str = ""  # the scaling group of a PodCliqueSet whose replicas the copies are
    least: int | None = None  # how many of the replicas must start, if the workload says so
    late: Late | None = None  # if they do not all start together

    @property
    def total(self) -> int:
        """The pods of all copies."""
        return self.replicas * self.copies


class WorkloadTemplates(NamedTuple):
    """The pod templates of a workload: what a reader in `kube/workloads` finds.

    `gangs`: how many gangs of these slots it makes (the groups of a LeaderWorkerSet); `gang_label`: the pod label that
    tells them apart. `slots` empty: the workload has no pods to place.
    """

    kind: str  # the word in messages and in `workload-KIND` rows: jobset, lws, pytorchjob
    object: Object
    slots: tuple[TemplateSlot, ...]
    gangs: int = 1
    gang_label: str = ""
    queue: str = ""  # if its kind has a field for it
    patched: bool = False  # whether the marks go into patches of a TrainJob, because its runtime is not its own
    made: str = ""  # the scheduler for which its controller makes a PodGroup
    left_out: int = 0  # pod templates that the policy leaves out of the gang
    opened_from: Object | None = None  # the object of Grove itself, if `object` is the opened one
    workload: Object | None = None  # what bayplan places, if `object` only has its pod templates (a TrainJob's runtime)

    @property
    def idle(self) -> bool:
        """Whether it has no pods, so that there is nothing to place."""
        return not (self.slots and self.gangs)

    @property
    def placed(self) -> Object:
        """The workload itself, whose name all its objects get."""
        return self.workload or self.object


class AugmentRequest(NamedTuple):
    """Existing objects as one set, and the annotations and policy that place them.

    `objects`: everything the client has read, items of Lists one by one. `namespace`, `queue`: those of objects that
    name none.
    """

    objects: tuple[Object, ...]
    topology: Document
    policy: Document | None = None
    scheduler: str = ""
    namespace: str = ""
    queue: str = ""
    target: Mapping[str, str] = {}
    accept: frozenset[str] = frozenset()
    hooks: bool = False  # whether objects with `helm.sh/hook` may be selected
    occupied: Mapping[str, tuple[Occupant, ...]] = {}  # what runs in the cluster


class Change(NamedTuple):
    """A changed object. `route`: the route of the object."""

    route: Route
    data: Manifest


class Added(NamedTuple):
    """A new object, and the route of its workload."""

    data: Manifest
    beside: Route


class Augmented(NamedTuple):
    """The result for a set of objects: changed ones in their order, and new ones in the order to apply them.

    `plans`: those of all placed workloads; `removed`: the routes of objects that no workload
    names any more, from the last to the first.
    """

    changes: tuple[Change, ...] = ()
    added: tuple[Added, ...] = ()
    plans: tuple[Plan, ...] = ()
    removed: tuple[Route, ...] = ()
