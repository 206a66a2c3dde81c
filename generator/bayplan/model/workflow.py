"""The user's intent, in the terms of the native Workflow format, for every format that bayplan reads."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from bayplan.core.diagnostics import Route
from bayplan.model.encoding import Encoded, decode

GANGS: Route = ("workflow", "spec", "gangs")
"""The route of a workflow's gangs."""


class Placement(NamedTuple):
    """Levels by name. `required`: the pods below must share one domain; `preferred`: better if they do."""

    required: str = ""
    preferred: str = ""


class Accelerator(NamedTuple):
    """A podSet's GPUs, per pod. `memory` and `cores` are shares of a card (HAMi); `profile` is a MIG profile.

    `portion`: how much of each card that is, in thousandths, as planning makes it out (0: of no card that is counted).
    """

    name: str = ""  # empty: that of the podSet's pool
    per_pod: Annotated[int, Encoded("count")] = 1
    node: str = ""  # spread | binpack
    cards: str = ""  # spread | binpack | mutex | numa
    links: str = ""  # best | guaranteed | restricted
    memory: str = ""
    cores: str = ""
    profile: str = ""
    selectors: tuple[str, ...] = ()  # CEL
    allocator: str = ""
    app_class: str = ""  # online | offline (MetaX sGPU)
    qos: str = ""  # best-effort | fixed-share | burst-share (MetaX sGPU)
    portion: Annotated[int, Encoded("")] = 1000

    @property
    def whole(self) -> bool:
        """Whether it requests whole cards."""
        return not (self.memory or self.cores or self.profile)

    @property
    def has_policy(self) -> bool:
        """Whether it has a policy for cards or nodes."""
        return bool(self.node or self.cards or self.links or self.app_class or self.qos)


class Attachment(NamedTuple):
    """How a podSet is attached to a fabric."""

    name: Annotated[str, Encoded(alone=True)]
    rails: tuple[int, ...] = ()  # by number, from 0; empty: all
    bootstrap: str = "primary"  # primary | fabric: the network of NCCL's and Gloo's sockets
    address: str = ""  # of rank 0 on the first rail (with its prefix), for MASTER_ADDR


def _in_one_line(base64: str) -> str:
    """Base64 without line breaks, as Kubernetes requires."""
    return "".join(base64.split())


class Binary(NamedTuple):
    """The content of a binary file."""

    base64: Annotated[str, Encoded(read=_in_one_line)]


class Transfer(NamedTuple):
    """A folder of a pod and one of an object store. `regex`: only files whose path below it begins with a match."""

    url: str
    path: str
    regex: str = ""


class Checkpoint(NamedTuple):
    """A folder to upload while the command runs: how many seconds after the end of the last upload."""

    url: str
    path: str
    every_seconds: int
    regex: str = ""


class Data(NamedTuple):
    """What to fetch before the command, to upload after it, and to upload while it runs."""

    inputs: tuple[Transfer, ...] = ()
    outputs: tuple[Transfer, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()

    @property
    def uploads(self) -> bool:
        """Whether anything is uploaded."""
        return bool(self.outputs or self.checkpoints)

    def transfers(self) -> Iterator[tuple[Transfer | Checkpoint, Route]]:
        """All of them, each with its route below the data."""
        for key in ("inputs", "outputs", "checkpoints"):
            for number, each in enumerate(getattr(self, key)):
                yield each, (key, number)


class Variable(NamedTuple):
    """The value of an environment variable that Kubernetes looks up, from one source."""

    secret: str = ""
    config_map: str = ""
    key: str = ""
    optional: bool = False
    field: str = ""  # such as metadata.name
    resource: str = ""  # such as limits.cpu


def texts(env: Mapping[str, str | Variable]) -> dict[str, str]:
    """The variables whose values the file has."""
    return {name: value for name, value in env.items() if isinstance(value, str)}


class EnvFrom(NamedTuple):
    """A Secret or ConfigMap whose keys are variables."""

    secret: str = ""
    config_map: str = ""
    prefix: str = ""
    optional: bool = False


class Ephemeral(NamedTuple):
    """A volume that Kubernetes makes for each pod."""

    size: str
    storage_class: str = ""
    access_mode: str = "ReadWriteOnce"


class EmptyDir(NamedTuple):
    """An empty folder of the pod."""

    medium: str = ""
    size: str = ""


class Nfs(NamedTuple):
    """A folder of an NFS server."""

    server: str
    path: str


class Volume(NamedTuple):
    """What is mounted at a path: one source, and how."""

    claim: str = ""
    ephemeral: Ephemeral | None = None
    host_path: str = ""
    type: str = ""  # of host_path
    empty_dir: EmptyDir | None = None
    config_map: str = ""
    secret: str = ""
    items: Mapping[str, str] = {}  # key -> file
    mode: str = ""  # octal
    optional: bool = False
    projected: tuple[Mapping[str, Any], ...] = ()  # in Kubernetes' form
    nfs: Nfs | None = None
    csi: Mapping[str, Any] = {}  # in Kubernetes' form
    read_only: bool = False
    sub_path: str = ""

    @property
    def source(self) -> "Volume":
        """The volume without what a mount says of it. Equal sources in one pod are one volume."""
        return self._replace(read_only=False, sub_path="")


class Container(NamedTuple):
    """A container besides the main one. Probes are in Kubernetes' form, and only sidecars have them."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: Mapping[str, str | Variable] = {}
    env_from: tuple[EnvFrom, ...] = ()
    resources: Mapping[str, str] = {}
    ports: Mapping[str, int] = {}
    startup_probe: Mapping[str, Any] = {}
    readiness_probe: Mapping[str, Any] = {}
    liveness_probe: Mapping[str, Any] = {}
    volumes: Mapping[str, Volume] = {}
    mounts: tuple[str, ...] | None = None  # paths of the podSet's volumes and files; None: all


class PodSet(NamedTuple):
    """Identical pods. `replicas` is per instance of the owner; with the owner's `size` it is the total."""

    name: str
    replicas: int = 1
    min_replicas: int | None = None
    starts_after: tuple[str, ...] = ()
    pool: str = ""
    accelerator: Accelerator | None = None
    resources: Mapping[str, str] = {}
    whole_node: bool = False
    numa: str = ""  # best-effort | restricted | single-numa-node
    fabric: Attachment | None = None
    image: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    launcher: str = ""  # mpi
    working_dir: str = ""
    env: Mapping[str, str | Variable] = {}
    env_from: tuple[EnvFrom, ...] = ()
    ports: Mapping[str, int] = {}
    startup_probe: Mapping[str, Any] = {}
    readiness_probe: Mapping[str, Any] = {}
    liveness_probe: Mapping[str, Any] = {}
    shm: str = ""  # auto | none | a size; empty: auto if it has accelerators
    volumes: Mapping[str, Volume] = {}
    files: Mapping[str, str | Binary] = {}
    data: Data = Data()
    init_containers: tuple[Container, ...] = ()
    sidecars: tuple[Container, ...] = ()
    service_account: str = ""
    termination_grace_period_seconds: int | None = None
    restart_policy: str = "Never"
    retry_on_exit_codes: tuple[int, ...] = ()
    restart_gang_on_exit_codes: tuple[int, ...] = ()
    template: Mapping[str, Any] = {}

    @property
    def has_shm(self) -> bool:
        """Whether its own field, or the default, mounts a /dev/shm."""
        return self.shm not in ("", NO_SHM)


AUTO_SHM, NO_SHM = "auto", "none"
"""Values of `shm`: as much as the pod's memory limit (Kubernetes, "Memory backed emptyDir"), and no volume."""


def has_own_fields(pods: PodSet) -> bool:
    """Whether a podSet has volumes, probes or other containers, or values that Kubernetes looks up."""
    probes = pods.startup_probe or pods.readiness_probe or pods.liveness_probe
    beside = pods.init_containers or pods.sidecars
    own = pods.service_account or pods.working_dir or pods.termination_grace_period_seconds is not None
    return bool(pods.volumes or pods.env_from or probes or beside or own) or len(texts(pods.env)) < len(pods.env)


def words(container: PodSet | Container) -> list[tuple[Route, str]]:
    """The strings in which Kubernetes replaces `$(NAME)`, with their routes in the container."""
    arguments = (("command", container.command), ("args", container.args))
    found: list[tuple[Route, str]] = [((key, n), word) for key, some in arguments for n, word in enumerate(some)]
    return [*found, *((("env", name), value) for name, value in texts(container.env).items())]


def _groups(data: list[Any]) -> tuple[Any, ...]:
    """Groups in a group."""
    return tuple(decode(Group, each) for each in data)


class Group(NamedTuple):
    """A part of a gang that is placed together. It has `groups` or `pod_sets`, never both."""

    name: str
    replicas: int = 1
    size: int | None = None  # divide the one podSet into instances of this many pods
    min_replicas: int | None = None
    separate: str = ""
    placement: Placement = Placement()
    compute_domain: str = "auto"  # auto | group | gang | never
    pool: str = ""
    groups: Annotated["tuple[Group, ...]", Encoded(read=_groups)] = ()
    pod_sets: tuple[PodSet, ...] = ()


def pod_of(host: str) -> tuple[str, int]:
    """A value of `hosts`: the podSet instance, and the number of its pod. `"worker/3"` is ("worker", 3)."""
    name, _, number = host.partition("/")
    return name, int(number or 0)


class Rollout(NamedTuple):
    """How many copies of a service change at the same time: above `replicas`, and missing from them."""

    surge: int = 0
    unavailable: int = 1


class Autoscale(NamedTuple):
    """The range of a HorizontalPodAutoscaler, and its metrics in the form of autoscaling/v2."""

    max_replicas: int
    min_replicas: int = 1
    cpu_percent: int | None = None
    metrics: tuple[Any, ...] = ()


class Service(NamedTuple):
    """A Service for clients. `pod_set`: empty: the first; `ports`: names of its ports, or numbers; empty: all."""

    name: str = ""
    pod_set: str = ""
    ports: tuple[str | int, ...] = ()
    type: str = "ClusterIP"


class Trainer(NamedTuple):
    """The runtime of a TrainJob that others wrote."""

    runtime: str
    kind: str = "ClusterTrainingRuntime"  # or TrainingRuntime


def _as_written(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A mapping in the order of the file."""
    return dict(data)


class Gang(NamedTuple):
    """Pods that start all or none.

    `rows`: the variables of each copy, which `matrix` gives it; then `replicas` is their number.
    """

    name: str
    depends_on: tuple[str, ...] = ()
    placement: Placement = Placement()
    workload: str = "auto"
    lifecycle: str = "job"  # job | service
    rollout: Rollout | None = None
    autoscale: Autoscale | None = None
    service: Service | None = None
    trainer: Trainer | None = None
    replicas: int = 1
    matrix: Annotated[Mapping[str, Any], Encoded(read=_as_written)] = {}
    rows: Annotated[tuple[Mapping[str, str], ...], Encoded("")] = ()
    at_once: int | None = None
    rendezvous: str = "gang"  # gang | group | none
    barrier: str = "none"  # none | gang | group
    lead: str = ""
    ignore_nonlead_failures: bool | None = None
    hosts: Mapping[str, str] = {}  # text -> "<podSet instance>" or "<podSet instance>/<number>"
    max_restarts: int = 0
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    preemptible: bool | None = None
    compute_domain: str = "auto"
    queue: str = ""
    pool: str = ""
    backends: Mapping[str, Mapping[str, Any]] = {}
    groups: tuple[Group, ...] = ()
    pod_sets: tuple[PodSet, ...] = ()


OF_GROVE = ("podcliqueset", "dynamographdeployment")
"""Kinds whose pods Grove makes, with gangs of its own."""


def serves(gang: Gang) -> bool:
    """Whether the gang never ends, so that all of its copies run at the same time."""
    return gang.lifecycle == "service"


def varies(gang: Gang) -> bool:
    """Whether the number of copies changes while a service runs: by an autoscaler, or during a rollout."""
    return gang.autoscale is not None or bool(gang.rollout and gang.rollout.surge)


def most_copies(gang: Gang, copies: int) -> int:
    """The most copies that run at the same time of a gang that has so many: an autoscaler and a rollout add some."""
    most = max(copies, gang.autoscale.max_replicas) if gang.autoscale else copies
    return most + (gang.rollout.surge if gang.rollout else 0)


def proven_copies(gang: Gang) -> int:
    """How many copies must fit at the same time: all of a service, otherwise `atOnce`, otherwise one."""
    return gang.replicas if serves(gang) or gang.workload == "lws" else gang.at_once or 1


UNWRAPPED = ("pods", "sbatch")
"""Workload kinds in which a pod that fails ends no other pod by itself, so that its command needs no shell."""


def hides_failures(gang: Gang, pods: PodSet) -> bool:
    """Whether the gang goes on when such a pod fails. One that the kubelet starts again does not fail."""
    return gang.ignore_nonlead_failures is True and pods.name != gang.lead and pods.restart_policy == "Never"


class Workflow(NamedTuple):
    """One Workflow document. `defaults` are already merged into the podSets."""

    name: str
    namespace: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    scheduler: str = ""
    queue: str = ""
    priority_class: Annotated[str, Encoded("priorityClassName")] = ""
    pool: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    cleanup: str = "none"  # none | adopt
    gangs: tuple[Gang, ...] = ()


# Walks over a workflow: every gang, group and podSet with its route.

Node = TypeVar("Node", Gang, Group)


class Owner(NamedTuple):
    """A gang or group, its gang, and all owners above it, outermost first."""

    node: Gang | Group
    route: Route
    gang: Gang
    above: tuple[Gang | Group, ...] = ()

    def title(self) -> str:
        """`gang "train"` or `group "replica"`."""
        return f'{"gang" if isinstance(self.node, Gang) else "group"} "{self.node.name}"'


class Place(NamedTuple):
    """A podSet and its owner."""

    pods: PodSet
    route: Route
    owner: Owner


def owners(workflow: Workflow) -> Iterator[Owner]:
    """All gangs and groups in file order, parents first."""
    for index, gang in enumerate(workflow.gangs):
        yield from _below(Owner(gang, (*GANGS, index), gang))


def _below(owner: Owner) -> Iterator[Owner]:
    yield owner
    for index, group in enumerate(owner.node.groups):
        yield from _below(Owner(group, (*owner.route, "groups", index), owner.gang, (*owner.above, owner.node)))


def pod_sets(workflow: Workflow) -> Iterator[Place]:
    """All podSets in file order."""
    for owner in owners(workflow):
        for index, pods in enumerate(owner.node.pod_sets):
            yield Place(pods, (*owner.route, "podSets", index), owner)


def pod_sets_of(node: Gang | Group) -> Iterator[PodSet]:
    """All podSets at and below a gang or group, in file order."""
    yield from node.pod_sets
    for group in node.groups:
        yield from pod_sets_of(group)


def edit_pod_sets(node: Node, route: Route, edit: Callable[[PodSet, Route], PodSet]) -> Node:
    """The gang or group with every podSet at and below it replaced. `edit` takes the podSet and its route."""
    sets = tuple(edit(spec, (*route, "podSets", i)) for i, spec in enumerate(node.pod_sets))
    groups = tuple(edit_pod_sets(group, (*route, "groups", i), edit) for i, group in enumerate(node.groups))
    return node._replace(pod_sets=sets, groups=groups)


def instances(group: Group) -> int:
    """How many instances a group has below one instance of its parent."""
    if group.size and group.pod_sets:
        return -(-group.pod_sets[0].replicas // group.size)
    return group.replicas


def base_name(workflow: Workflow, gang: Gang) -> str:
    """The object name of a gang without copies, or of all copies together."""
    return workflow.name if len(workflow.gangs) == 1 else f"{workflow.name}-{gang.name}"


def nearest_pool(workflow: Workflow, owner: Owner) -> str:
    """The nearest pool that is set on a gang or group or above it; empty if there is none."""
    return next((node.pool for node in (owner.node, *reversed(owner.above)) if node.pool), workflow.pool)
