"""What a pool configuration of OSMO says, with everything merged in that stands elsewhere in the file."""

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.values import NamedTuple

SUBJECT = "osmo-pool"
"""The first element of the routes into a pool configuration, and its key in `Context.beside`."""


class Key(NamedTuple):
    """A topology key: what workflows call a level, and the node label that holds it. Coarse to fine in a pool."""

    key: str
    label: str
    route: Route = ()


class Rule(NamedTuple):
    """One resource validation: `left operator right`, both Jinja texts; `message` is what a user reads otherwise."""

    operator: str  # GT | GE | LT | LE | EQ
    left: str
    right: str
    message: str
    route: Route = ()


class Platform(NamedTuple):
    """One platform, the pool's common parts merged in. `variables`, `rules` and `pod_template` are not yet rendered."""

    name: str
    privileged_allowed: bool = False
    host_network_allowed: bool = False
    allowed_mounts: tuple[str, ...] = ()
    default_mounts: tuple[str, ...] = ()
    variables: Mapping[str, Any] = {}
    rules: tuple[Rule, ...] = ()
    pod_template: Mapping[str, Any] = {}
    route: Route = ()
    sources: tuple[tuple[Any, Route], ...] = ()  # the templates that were merged, in order, and where they stand


class GroupTemplate(NamedTuple):
    """An object that OSMO makes for every task group. Templates of one kind and name are merged."""

    name: str
    kind: str
    api_version: str
    data: Mapping[str, Any]
    route: Route = ()


class PoolConfig(NamedTuple):
    """One pool. Timeouts are in seconds; None: the file says nothing of it, the service decides.

    `places`: where the file says so, by field (the timeouts, `default_platform`, `guarantee`).
    """

    name: str
    keys: tuple[Key, ...] = ()
    default_platform: str = ""
    platforms: Mapping[str, Platform] = {}
    group_templates: tuple[GroupTemplate, ...] = ()
    default_exec_timeout: float | None = None
    max_exec_timeout: float | None = None
    default_queue_timeout: float | None = None
    max_queue_timeout: float | None = None
    default_exit_actions: Mapping[str, str] = {}  # action -> codes, in file order: asked after a task's own
    guarantee: int = -1  # GPUs that workflows which cannot be preempted may use at once; -1: any number
    namespace: str = ""  # of its backend
    scheduler: str = ""  # the scheduler's name in pods
    route: Route = (SUBJECT,)
    places: Mapping[str, Route] = {}


class Ask(NamedTuple):
    """What one task asks of its platform. Amounts as the workflow writes them, empty or None where it says nothing.

    `places` says where the workflow says so, by field (`platform`, `cpu`, `gpu`, `memory`, `storage`, `cache`,
    `privileged`, `host_network`); what is not in there is reported at `route`. `mount_places` belong to `mounts`.
    """

    route: Route
    task: str
    container: str  # the name of the user's container in what bayplan writes
    group: str
    workflow: str
    platform: str = ""  # empty: the pool's default
    cpu: int | None = None
    gpu: int | None = None
    memory: str = ""
    storage: str = ""
    cache: str = ""
    excluded: tuple[str, ...] = ()
    lead: bool = False
    privileged: bool = False
    host_network: bool = False
    mounts: tuple[str, ...] = ()  # SOURCE[:TARGET]
    places: Mapping[str, Route] = {}
    mount_places: tuple[Route, ...] = ()
    priority: str = "normal"


class Share(NamedTuple):
    """What the platform gives to one task.

    `resources` are the requests of the user's container that are its limits as well, `accelerators` its GPUs (None:
    the template gives none), and `template` is the rest as a PodTemplateSpec that lies over the podSet's own. `origins`
    has the places of all three: routes that begin with ("template",), below it as in `origins.origins`, or that are
    ("resources", NAME) and ("accelerator",).
    """

    resources: Mapping[str, str] = {}
    accelerators: int | None = None
    template: Mapping[str, Any] = {}
    mounts: tuple[str, ...] = ()  # of the task's own mounts those that the template does not bring already
    origins: Mapping[Route, Route] = {}


class Timeouts(NamedTuple):
    """Seconds; None where neither workflow nor pool says any."""

    execution: float | None
    queue: float | None
