"""Which scheduler can hand out whose cards, and through which allocator: one table.

Rows are looked through from above, and the first that fits decides; of those that say *partly* all are told. `*` is
any. Sources: HAMi 2.10.0 (`pkg/scheduler/webhook.go`; `charts/hami/values.yaml`: deviceSplitCount), HAMi#392, HAMi#453,
volcano-vgpu-device-plugin#46, Volcano 1.14 to 1.15 (`pkg/scheduler/plugins/deviceshare`), Kueue 0.14 to 0.19
(`site/static/examples/serving-workloads`), Slurm 25.11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from bayplan.core.values import NamedTuple

Verdict = Literal["yes", "partly", "no", "claim"]
ANY = "*"


class Row(NamedTuple):
    """One line: who schedules, whose cards, how they are handed out, and whether that works.

    `part`: only of these asks: `share` (memory or cores), `split` (whole cards that HAMi offers several times each),
    `profile` (MIG), `policy` (node, cards, links), `node` (a policy for nodes), `names` (a count that is Volcano's
    own), `foreign` (HAMi's names for cards of NVIDIA). Empty: of all asks.
    `claim`: what the scheduler says of claims through DRA decides (`gpu-claim`).
    """

    scheduler: str
    vendor: str
    allocator: str
    verdict: Verdict
    reason: str = ""
    hint: str = ""
    part: str = ""


OTHERS = "run it with `-s kueue` or `-s none`, where hami-scheduler places the pods"
WHOLE = "ask for whole cards through a device plugin: `allocator: device-plugin`"
BATCH = ("slurm", "slurm-bridge", "sunk")

TABLE: tuple[Row, ...] = (
    Row(ANY, ANY, "dra", "claim"),
    *(
        Row(
            name,
            ANY,
            "device-plugin",
            "no",
            "its nodes know GPUs by number, and no profiles of them",
            "ask for whole GPUs, or take another scheduler",
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
        "Volcano shares GPUs under names of its own, and HAMi's webhook leaves its pods alone, so nothing would keep"
        " them to their share",
        "give the accelerator the names of volcano-vgpu-device-plugin: `resources: {count: volcano.sh/vgpu-number}`",
        "foreign",
    ),
    *(
        Row(
            "volcano",
            vendor,
            "hami",
            "no",
            "Volcano's plugin deviceshare chooses cards by its own configuration, and reads no policies of pods",
            "set `deviceshare.SchedulePolicy` in volcano-scheduler.conf, and leave `node`, `cards` and `links` out",
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
        "Volcano shares cards of NVIDIA and Ascend only, and HAMi's webhook leaves its pods alone",
        f"{OTHERS}; or {WHOLE}",
    ),
    *(
        Row(
            name,
            "nvidia",
            "hami",
            "no",
            "these are the names of Volcano's own plugin, which HAMi's scheduler does not know",
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
        "Kueue adds up memory and cores once a pod, however many cards it takes, and looks for them among what nodes"
        " offer, where HAMi does not put them",
        "have Kueue leave them out (`resources.excludeResourcePrefixes`), or multiply them by the cards"
        " (`resources.transformations` with `multiplyBy`) where it does not place the pods",
        "share",
    ),
    Row(
        "kueue",
        ANY,
        "hami",
        "partly",
        "each card is offered several times (of NVIDIA 10 times, unless HAMi is told otherwise), and Kueue, which"
        " counts what nodes offer, admits as many times more pods than there are cards for",
        f"{WHOLE}; or have each offered once (`devicePlugin.deviceSplitCount: 1` for those of NVIDIA), and say so with"
        " the accelerator's `maxPods: 1`",
        "split",
    ),
    Row(
        "kueue",
        ANY,
        "hami",
        "partly",
        "Kueue's Topology ends at kubernetes.io/hostname, so Kueue has chosen each pod's node before HAMi looks, and a"
        " wish among nodes does nothing",
        "use `-s none`, or a Topology of your own whose levels end above nodes; otherwise leave `node` out, and `links`"
        " of cards of MetaX",
        "node",
    ),
    Row("kueue", ANY, "hami", "yes"),
    Row("none", ANY, "hami", "yes"),
    Row(
        "kai",
        ANY,
        "hami",
        "no",
        "KAI binds pods itself, and HAMi's webhook leaves them alone: nobody chooses the cards",
        f"{OTHERS}; or {WHOLE}",
    ),
    Row(
        "koordinator",
        ANY,
        "hami",
        "no",
        "Koordinator shares cards by its own plugin DeviceShare, under names of its own",
        f"{OTHERS}; or {WHOLE}",
    ),
    Row(
        "native",
        ANY,
        "hami",
        "no",
        "gangs of Kubernetes are started by kube-scheduler, and HAMi's scheduler is another one, whose gangs nobody"
        " has tried",
        f"{OTHERS}; or {WHOLE}",
    ),
    *(Row(name, ANY, "hami", "no", "Slurm hands out the cards of its nodes itself", WHOLE) for name in BATCH),
)

UNTRIED = Row(ANY, ANY, "hami", "no", "nobody has tried it", WHOLE)
"""Of a scheduler without rows."""


def verdict(scheduler: str, vendor: str, allocator: str, parts: frozenset[str] = frozenset()) -> Row:
    """The first row that fits, for an ask with such parts."""
    return next(_fitting(scheduler, vendor, allocator, parts), UNTRIED)


def catches(scheduler: str, vendor: str, allocator: str, parts: frozenset[str]) -> Iterator[Row]:
    """Every row that fits and says that it works in part."""
    return (row for row in _fitting(scheduler, vendor, allocator, parts) if row.verdict == "partly")


def _fitting(scheduler: str, vendor: str, allocator: str, parts: frozenset[str]) -> Iterator[Row]:
    """The rows about such cards and such parts of them, from above; an unknown scheduler has none."""
    key = (scheduler, vendor, allocator)
    rows = (row for row in TABLE if all(own in (ANY, has) for own, has in zip(row[:3], key, strict=True)))
    return (row for row in rows if not row.part or row.part in parts)
