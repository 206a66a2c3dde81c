"""Kubernetes documents, and the marks that bayplan puts on them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.model.plan import GangPlan
from bayplan.text import File as File
from bayplan.text import Item as Item
from bayplan.text import Manifest as Manifest
from bayplan.text import Many as Many
from bayplan.text import Slot as Slot


class Object(NamedTuple):
    """A Kubernetes object of a user, with any content. `route` leads to it, with its subject first."""

    route: Route
    data: Manifest


class Absent(NamedTuple):
    """In place of a value: an existing template may have only one of these values, or none."""

    but: tuple[str, ...] = ()


class PodParts(NamedTuple):
    """A part of a pod template, from a podSet, an accelerator, a fabric or a backend.

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
    """What a backend needs on one podSet instance: on the workload that owns it, on its Job template, on its pods."""

    owner: Meta = Meta()
    job: Meta = Meta()
    pod: PodParts = PodParts()


class Lowered(NamedTuple):
    """A backend's answer: its own documents, and the marks by (gang object name, `Pods.name`)."""

    documents: tuple[Manifest | File, ...]
    marks: Mapping[tuple[str, str], Marks]


class Workload(NamedTuple):
    """One workload to write (or, for kinds of many objects, one family of them): its kind and its gangs.

    `in_order`: whether its controller makes some of the pods only after others run.
    """

    kind: str
    name: str
    gangs: tuple[GangPlan, ...]
    in_order: bool = False


class Shape(NamedTuple):
    """How the plan is divided into workloads.

    `existing`: they are there already, and their pods are called as their controllers call them.
    """

    workloads: tuple[Workload, ...]
    existing: bool = False
