"""Kubernetes documents, and what is woven into them."""

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.model.plan import GangPlan
from bayplan.values import NamedTuple

Manifest = Mapping[str, Any]
"""One Kubernetes object as plain data. Its keys are written in the order they have."""


class Object(NamedTuple):
    """A Kubernetes object that somebody wrote: anything may stand in it. `route` leads to it, subject first."""

    route: Route
    data: Manifest


class File(NamedTuple):
    """A document that is text of its own: a batch script, a scheduler's configuration.

    `undo`: the commands that take back what running it did.
    """

    name: str
    text: str
    undo: tuple[str, ...] = ()


class Slot(NamedTuple):
    """A place in a skeleton. `name`: a DNS-1123 name; `text`: a number in quotes; `number`: a bare integer."""

    column: int
    form: str  # name | text | number


class Many(NamedTuple):
    """One skeleton document with `Slot`s among its values (and keys), filled once a row: n documents at once.

    A string value may also be a tuple of strings and slots, which are joined.
    """

    skeleton: Manifest
    rows: Iterable[tuple[str | int, ...]]


Item = Manifest | Many | File
"""What a run puts out: one object, many, or a text."""


class Absent(NamedTuple):
    """Instead of a value: nothing may stand there, in a template that others wrote, but one of these."""

    but: tuple[str, ...] = ()


class PodParts(NamedTuple):
    """A share of a pod template: what a podSet, an accelerator, a fabric or a backend contributes.

    `claims` are entries of `spec.resourceClaims`; the main container claims each of them by name.
    `env` entries, `volumes` and `mounts` are Kubernetes objects. `resources` go into requests and limits alike.
    """

    labels: Mapping[str, Any] = {}
    annotations: Mapping[str, Any] = {}
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Mapping[str, Any], ...] = ()
    env: tuple[Mapping[str, Any], ...] = ()
    resources: Mapping[str, str] = {}
    claims: tuple[Mapping[str, Any], ...] = ()
    volumes: tuple[Mapping[str, Any], ...] = ()
    mounts: tuple[Mapping[str, Any], ...] = ()
    capabilities: tuple[str, ...] = ()
    privileged: bool = False
    unlimited: frozenset[str] = frozenset()  # resources that get a request and no limit
    spec: Mapping[str, Any] = {}  # plain pod spec fields: schedulerName, priorityClassName, hostname, ...


class Meta(NamedTuple):
    """Labels and annotations to add to an object's metadata.

    `spec`: fields of its spec, for kinds of workloads that say themselves how they are to be scheduled.
    """

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}


class Marks(NamedTuple):
    """What a backend wants on one podSet instance: on the workload that owns it, on its Job template, on its pods."""

    owner: Meta = Meta()
    job: Meta = Meta()
    pod: PodParts = PodParts()


class Lowered(NamedTuple):
    """A backend's answer: its own documents, and the marks by (gang object name, `Pods.name`)."""

    documents: tuple[Manifest | File, ...]
    marks: Mapping[tuple[str, str], Marks]


class Workload(NamedTuple):
    """One workload to write (or, for kinds of many objects, one family of them): its kind and the gangs it holds."""

    kind: str
    name: str
    gangs: tuple[GangPlan, ...]


class Shape(NamedTuple):
    """How the plan is cut into workloads.

    `given`: they are there already, and their pods are called as their controllers call them.
    """

    workloads: tuple[Workload, ...]
    given: bool = False
