"""Which scheduler supports whose cards, and through which allocator: one table.

The first row that matches decides; of rows with *partly* all count. `*` matches any.

Sources: HAMi 2.10.0 (`pkg/scheduler/webhook.go`; `charts/hami/values.yaml`: deviceSplitCount), HAMi#392, HAMi#453,
volcano-vgpu-device-plugin#46, Volcano 1.14 to 1.15 (`pkg/scheduler/plugins/deviceshare`), Kueue 0.14 to 0.19
(`site/static/examples/serving-workloads`), Slurm 25.11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

Verdict = Literal["yes", "partly", "no", "claim"]
ANY = "*"


class Row(NamedTuple):
    """One row: the scheduler, the vendor, the allocator, and whether they work together.

    `part`: only for these requests: `share` (memory or cores), `split` (whole cards that HAMi offers several times
    each), `profile` (MIG), `selectors` (CEL), `policy` (node, cards, links), `node` (a policy for nodes), `names` (a
    count of Volcano's own), `foreign` (HAMi's names for cards of NVIDIA). Empty: for all requests.
    `claim`: the scheduler's support of claims through DRA decides (`gpu-claim`).
    """

    scheduler: str
    vendor: str
    allocator: str
    verdict: Verdict
    reason: str = ""
    hint: str = ""
    part: str = ""


OTHERS = "run it with `-s kueue` and a queue, or with `-s none`, where hami-scheduler places the pods"
WHOLE = "request whole devices from a device plugin: `allocator: device-plugin`"
BATCH = ("slurm", "slurm-bridge", "sunk")

TABLE: tuple[Row, ...] = (
    Row(
        "slurm",
        ANY,
        "dra",
        "no",
        "Slurm counts whole GPUs and knows no MIG profiles of claims",
        "request whole GPUs, or use another scheduler",
        "profile",
    ),
    Row(
        "slurm",
        ANY,
        "dra",
        "no",
        "Slurm selects GPUs by number and type, and evaluates no CEL expressions",
        "remove `selectors`, and name a type of gres.conf: `backends: {slurm: {gpuType: TYPE}}`",
        "selectors",
    ),
    Row(ANY, ANY, "dra", "claim"),
    *(
        Row(
            name,
            ANY,
            "device-plugin",
            "no",
            "its nodes count GPUs and do not know MIG profiles",
            "request whole GPUs, or use another scheduler",
            "profile",
        )
        for name in BATCH
    ),
    Row(ANY, ANY, "device-plugin", "yes"),
    Row(
        "volcano",
        "nvidia",
        "hami",
        "no",
        "Volcano shares GPUs under its own resource names, and HAMi's webhook ignores its pods, so nothing would"
        " enforce their shares",
        "set the names of volcano-vgpu-device-plugin on the accelerator: `resources: {count: volcano.sh/vgpu-number}`",
        "foreign",
    ),
    *(
        Row(
            "volcano",
            vendor,
            "hami",
            "no",
            "Volcano's plugin deviceshare chooses devices by its own configuration and ignores policies of pods",
            "set `deviceshare.SchedulePolicy` in volcano-scheduler.conf, and remove `node`, `cards` and `links`",
            "policy",
        )
        for vendor in ("nvidia", "ascend")
    ),
    Row("volcano", "nvidia", "hami", "yes"),
    Row("volcano", "ascend", "hami", "yes"),
    Row(
        "volcano",
        ANY,
        "hami",
        "no",
        "Volcano shares only devices of NVIDIA and Ascend, and HAMi's webhook ignores its pods",
        f"{OTHERS}; or {WHOLE}",
    ),
    *(
        Row(
            name,
            "nvidia",
            "hami",
            "no",
            "the resource names are those of Volcano's own plugin, which HAMi's scheduler does not know",
            "use `-s volcano`, or HAMi's names: `resources: {count: nvidia.com/gpu}`",
            "names",
        )
        for name in ("kueue", "none")
    ),
    Row(
        "kueue",
        ANY,
        "hami",
        "partly",
        "Kueue counts memory and cores once per pod, not once per device, and expects them in the capacity of nodes,"
        " where HAMi does not list them",
        "exclude them in Kueue (`resources.excludeResourcePrefixes`); or, if Kueue does not place the pods, multiply"
        " them by the devices (`resources.transformations` with `multiplyBy`)",
        "share",
    ),
    Row(
        "kueue",
        ANY,
        "hami",
        "partly",
        "HAMi offers each device several times (NVIDIA GPUs 10 times by default), and Kueue counts each offer,"
        " so it admits too many pods",
        f"{WHOLE}; or let HAMi offer each device once (`devicePlugin.deviceSplitCount: 1` for NVIDIA), and set"
        " `maxPods: 1` on the accelerator",
        "split",
    ),
    Row(
        "kueue",
        ANY,
        "hami",
        "partly",
        "Kueue's Topology ends at kubernetes.io/hostname, so Kueue chooses each pod's node before HAMi, and a policy"
        " for nodes has no effect",
        "use `-s none`, or a Topology of your own whose levels end above nodes; otherwise remove `node`, and for MetaX"
        " also `links`",
        "node",
    ),
    Row("kueue", ANY, "hami", "yes"),
    Row("none", ANY, "hami", "yes"),
    Row(
        "kai",
        ANY,
        "hami",
        "no",
        "KAI binds pods itself, and HAMi's webhook ignores them, so nothing chooses the devices",
        f"{OTHERS}; or {WHOLE}",
    ),
    Row(
        "koordinator",
        ANY,
        "hami",
        "no",
        "Koordinator shares devices with its own plugin DeviceShare, under its own resource names",
        f"{OTHERS}; or {WHOLE}",
    ),
    Row(
        "native",
        ANY,
        "hami",
        "no",
        "kube-scheduler starts gangs of Kubernetes, but HAMi has a scheduler of its own, with which gangs are untested",
        f"{OTHERS}; or {WHOLE}",
    ),
    *(Row(name, ANY, "hami", "no", "Slurm allocates the devices of its nodes itself", WHOLE) for name in BATCH),
)

UNTRIED = Row(ANY, ANY, "hami", "no", "this combination is untested", WHOLE)
"""The row of a scheduler without rows."""


def verdict(scheduler: str, vendor: str, allocator: str, parts: frozenset[str] = frozenset()) -> Row:
    """The first row that matches a request with these parts."""
    return next(_fitting(scheduler, vendor, allocator, parts), UNTRIED)


def catches(scheduler: str, vendor: str, allocator: str, parts: frozenset[str]) -> Iterator[Row]:
    """Every matching row with *partly*."""
    return (row for row in _fitting(scheduler, vendor, allocator, parts) if row.verdict == "partly")


def _fitting(scheduler: str, vendor: str, allocator: str, parts: frozenset[str]) -> Iterator[Row]:
    """The rows for these cards and parts, in order. An unknown scheduler has none."""
    key = (scheduler, vendor, allocator)
    rows = (row for row in TABLE if all(own in (ANY, has) for own, has in zip(row[:3], key, strict=True)))
    return (row for row in rows if not row.part or row.part in parts)
