"""Small documents, and hypothesis strategies for valid workflows and topologies."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from bayplan.model.topology import (
    AcceleratorKind,
    ClusterTopology,
    Domain,
    Fabric,
    Level,
    Namespace,
    NodeShape,
    Pool,
    Rail,
    named_queues,
)
from bayplan.model.workflow import (
    Accelerator,
    Attachment,
    Autoscale,
    Binary,
    Checkpoint,
    Data,
    Gang,
    Group,
    Placement,
    PodSet,
    Rollout,
    Service,
    Trainer,
    Transfer,
    Workflow,
)
from tools.golden import with_rows

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(
    path
    for path in (ROOT / "examples").glob("*/*.yaml")
    if path.name not in ("osmo.yaml", "bayplan.yaml") and path.parent.name != "sources"
)
"""All but OSMO's files, which are templates, the project's, which is tried by its command, and what others wrote."""


def load(path: Path) -> Any:
    """The data of a file. A matrix has the rows of its CSV file."""
    return with_rows(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader), path.parent)


def workflow_data() -> Any:
    """The pretraining example."""
    return load(ROOT / "examples" / "pretrain" / "workflow.yaml")


def topology_data() -> Any:
    """Its topology."""
    return load(ROOT / "examples" / "pretrain" / "topology.yaml")


def changed(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy with another value at a path."""
    result = copy.deepcopy(data)
    here = result
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return result


NAME = st.from_regex(r"\A[a-z]([a-z0-9-]{0,6}[a-z0-9])?\Z")
OPTIONAL = st.one_of(st.just(""), NAME)
COUNT = st.integers(1, 1000)
MAYBE_COUNT = st.one_of(st.none(), COUNT)
TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5), max_size=3).map(tuple)
AMOUNT = st.sampled_from(["4", "500m", "64Gi", "1e3", "0.5"])
WISHES = st.sampled_from(["auto", "group", "gang", "never"])
TEMPLATE = st.sampled_from([{}, {"spec": {"hostIPC": True}}, {"metadata": {"labels": {"a": None}}}])


KINDS_OF_SERVICES = st.sampled_from(["ClusterIP", "NodePort"])


def _unset(kind: Any, names: str) -> dict[str, st.SearchStrategy[Any]]:
    """The defaults of fields that other tests fill."""
    return {name: st.just(kind._field_defaults[name]) for name in names.split()}


PLACEMENTS = st.builds(Placement, OPTIONAL, OPTIONAL)
ACCELERATORS = st.builds(
    Accelerator,
    name=OPTIONAL,
    per_pod=st.integers(1, 16),
    node=st.sampled_from(["", "spread", "binpack"]),
    links=st.sampled_from(["", "best", "guaranteed", "restricted"]),
    memory=st.sampled_from(["", "20Gi", "50%"]),
    cores=st.sampled_from(["", "30"]),
    profile=st.sampled_from(["", "1g.10gb", "1g.10gb+me"]),
    selectors=st.sampled_from([(), ("true",)]),
    allocator=st.sampled_from(["", "dra", "hami", "device-plugin"]),
    cards=st.sampled_from(["", "spread", "mutex"]),
    app_class=st.sampled_from(["", "online"]),
    qos=st.sampled_from(["", "fixed-share"]),
    portion=st.just(1000),
)
TRANSFERS = st.builds(
    Transfer,
    url=st.sampled_from(["s3://models/run-1", "store:prepared"]),
    path=st.sampled_from(["/in", "/out/a"]),
    regex=st.sampled_from(["", ".*[.]pt$"]),
)
CHECKPOINTS = st.builds(
    Checkpoint,
    url=st.just("s3://models/run-1"),
    path=st.just("/state"),
    every_seconds=st.integers(1, 600),
    regex=st.just(""),
)
DATA = st.builds(
    Data,
    inputs=st.lists(TRANSFERS, max_size=2).map(tuple),
    outputs=st.lists(TRANSFERS, max_size=2).map(tuple),
    checkpoints=st.lists(CHECKPOINTS, max_size=1).map(tuple),
)
SECRETS = st.lists(st.sampled_from(["registry", "a.b-c"]), unique=True).map(tuple)
CODES = st.lists(st.integers(1, 255), unique=True, max_size=3).map(tuple)
POD_SETS = st.builds(
    PodSet,
    launcher=st.sampled_from(["", "mpi"]),
    name=NAME,
    replicas=COUNT,
    min_replicas=MAYBE_COUNT,
    starts_after=st.lists(NAME, unique=True, max_size=2).map(tuple),
    pool=OPTIONAL,
    accelerator=st.one_of(st.none(), ACCELERATORS),
    resources=st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/nic"]), AMOUNT),
    whole_node=st.booleans(),
    numa=st.sampled_from(["", "best-effort", "single-numa-node"]),
    fabric=st.sampled_from([None, Attachment("east"), Attachment("east", (0, 2), "fabric", "10.0.0.1/24")]),
    image=st.sampled_from(["", "busybox", "nvcr.io/nvidia/pytorch:25.08-py3", "a@sha256:0"]),
    command=TEXTS,
    args=TEXTS,
    env=st.dictionaries(st.sampled_from(["A", "_b", "C.d-e"]), st.text(max_size=5)),
    ports=st.dictionaries(st.sampled_from(["metrics", "p-1"]), st.integers(1, 65535)),
    shm=st.one_of(st.just(""), AMOUNT),
    files=st.dictionaries(
        st.sampled_from(["/a", "/b/c.sh"]), st.text(max_size=5) | st.sampled_from([Binary(""), Binary("H4sIAA==")])
    ),
    image_pull_secrets=SECRETS,
    restart_policy=st.sampled_from(["Never", "OnFailure", "Always"]),
    retry_on_exit_codes=CODES,
    restart_gang_on_exit_codes=CODES,
    data=DATA,
    template=TEMPLATE,
    **_unset(PodSet, "volumes env_from startup_probe readiness_probe liveness_probe init_containers sidecars"),
    **_unset(PodSet, "service_account working_dir termination_grace_period_seconds"),
)
HELD = st.lists(POD_SETS, min_size=1, max_size=2).map(tuple)


def _nest(name: str, groups: list[Group]) -> Group:
    return Group(name, groups=tuple(groups))


GROUPS = st.recursive(
    st.builds(
        Group,
        name=NAME,
        replicas=COUNT,
        size=MAYBE_COUNT,
        min_replicas=MAYBE_COUNT,
        separate=OPTIONAL,
        placement=PLACEMENTS,
        compute_domain=WISHES,
        pool=OPTIONAL,
        groups=st.just(()),
        pod_sets=HELD,
    ),
    lambda inner: st.builds(_nest, NAME, st.lists(inner, min_size=1, max_size=2)),
    max_leaves=3,
)
GANGS = st.builds(
    Gang,
    name=NAME,
    depends_on=st.lists(NAME, unique=True, max_size=2).map(tuple),
    placement=PLACEMENTS,
    workload=st.sampled_from(["auto", "job", "jobset", "pods", "lws", "volcano-job"]),
    lifecycle=st.sampled_from(["job", "service"]),
    rollout=st.none() | st.builds(Rollout, surge=st.integers(0, 2), unavailable=st.integers(0, 2)),
    autoscale=st.none()
    | st.builds(Autoscale, max_replicas=COUNT, min_replicas=COUNT, cpu_percent=MAYBE_COUNT, metrics=st.just(())),
    service=st.none() | st.builds(Service, name=OPTIONAL, pod_set=OPTIONAL, ports=st.just(()), type=KINDS_OF_SERVICES),
    trainer=st.none() | st.builds(Trainer, runtime=NAME, kind=st.just("TrainingRuntime")),
    queue=OPTIONAL,
    **_unset(Gang, "matrix rows"),
    replicas=COUNT,
    at_once=MAYBE_COUNT,
    compute_domain=WISHES,
    rendezvous=st.sampled_from(["gang", "group", "none"]),
    barrier=st.sampled_from(["none", "gang", "group"]),
    lead=OPTIONAL,
    hosts=st.dictionaries(st.sampled_from(["${HOST}", "the lead", "\u00e9\n"]), st.sampled_from(["a", "a-0-b/12"])),
    ignore_nonlead_failures=st.one_of(st.none(), st.booleans()),
    max_restarts=st.integers(0, 5),
    active_deadline_seconds=MAYBE_COUNT,
    ttl_seconds_after_finished=st.one_of(st.none(), st.integers(0, 5)),
    preemptible=st.one_of(st.none(), st.booleans()),
    pool=OPTIONAL,
    backends=st.sampled_from([{}, {"kai": {"markUnschedulable": False}}, {"slurm": {"account": "phys"}}]),
    groups=st.lists(GROUPS, max_size=2).map(tuple),
    pod_sets=st.just(()),
)
WORKFLOWS = st.builds(
    Workflow,
    name=NAME,
    namespace=OPTIONAL,
    scheduler=st.sampled_from(["", "kai", "slurm"]),
    queue=OPTIONAL,
    priority_class=OPTIONAL,
    image_pull_secrets=SECRETS,
    pool=OPTIONAL,
    cleanup=st.sampled_from(["none", "adopt"]),
    gangs=st.lists(GANGS, min_size=1, max_size=2).map(tuple),
    labels=st.sampled_from([{}, {"team": "vision", "example.com/x": ""}]),
    annotations=st.sampled_from([{}, {"example.com/note": "any text"}]),
)


@st.composite
def pools(draw: st.DrawFn, name: str) -> Pool:
    """A pool whose nodes carry its name."""
    depth = draw(st.integers(0, 3))
    levels = tuple(
        Level(f"level{i}", f"example.com/{name}{i}", draw(st.booleans()), draw(MAYBE_COUNT) if i == depth - 1 else None)
        for i in range(depth)
    )
    domains = tuple(
        Domain(
            tuple(f"{i}.{d}" for i in range(depth)),
            tuple(f"{name}-{d}-n{n:02d}" for n in range(draw(st.integers(0, 20)))),
            draw(st.sampled_from(["", f"{name}.{d}"])),
        )
        for d in range(draw(st.integers(1, 3)) if depth else 1)
    )
    amounts = st.dictionaries(
        st.sampled_from(["cpu", "memory", "ephemeral-storage"]), st.integers(0, 10**12), max_size=3
    )
    node = NodeShape(
        "gb200" if draw(st.booleans()) else "",
        draw(st.integers(1, 8)),
        {"pods": 110_000, **draw(amounts)},
        draw(st.sampled_from([{}, {"example.com/a": "b"}])),
        draw(st.sampled_from([(), ({"key": "nvidia.com/gpu", "operator": "Exists"},)])),
    )
    nodes = [node for domain in domains for node in domain.nodes]
    unusable = {"cordoned": tuple(nodes[:2])} if nodes and draw(st.booleans()) else {}
    return Pool(name, node, levels, domains, unusable, draw(st.sampled_from([{}, {"spec": {"hostIPC": True}}])))


@st.composite
def topologies(draw: st.DrawFn) -> ClusterTopology:
    """A sound topology."""
    names = draw(st.lists(NAME, min_size=1, max_size=2, unique=True))
    kinds = st.sampled_from([("device-plugin",), ("dra",), ("dra", "device-plugin")])
    return ClusterTopology(
        draw(NAME),
        tuple(draw(pools(name)) for name in names),
        versions=draw(st.sampled_from([{}, {"kai": "0.17", "draDriver": "25.12"}])),
        defaults=draw(st.sampled_from([{}, {"scheduler": "kai", "namespace": "ml"}])),
        queues=draw(st.sampled_from([None, named_queues("research")])),
        schedulers=draw(st.sampled_from([{}, {"kai": {"topology": "hall"}}])),
        accelerators={
            "gb200": AcceleratorKind(
                "gb200",
                allocators=draw(kinds),
                resources={"count": "nvidia.com/gpu"},
                profile=draw(st.sampled_from(["", "1g.10gb"])),
                memory=draw(st.sampled_from(["", "80Gi"])),
                max_pods=draw(st.sampled_from([0, 10])),
                link_zones=draw(st.sampled_from([(), ((0, 1), (2, 3))])),
                topology_annotated=draw(st.sampled_from([None, False, True])),
            )
        },
        fabrics=draw(
            st.sampled_from(
                [{}, {"east": Fabric("east", "macvlan", rails=(Rail("ml/east", hca="mlx5_0", gpu=0),), env={"A": "1"})}]
            )
        ),
        namespaces=draw(
            st.sampled_from([{}, {"ml": Namespace("ml", "baseline", "eth0", "", "trainer", ("registry",))}])
        ),
        images=draw(st.sampled_from([{}, {"kubectl": "example.com/kubectl:1"}])),
    )
