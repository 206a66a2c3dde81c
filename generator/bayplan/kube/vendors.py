"""HAMi's resource names for cards, their memory and their cores, by vendor.

HAMi 2.10.0: `charts/hami/values.yaml`, `charts/hami/templates/scheduler/device-configmap.yaml`, `pkg/device/`;
Volcano 1.14: plugin `deviceshare`. A chart's values may rename all of them, so that what a topology says wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bayplan.model.topology import AcceleratorKind

MIB, GIB = 2**20, 2**30
CHIP = "*"
"""The placeholder for the chip in a name: `huawei.com/Ascend910B3`."""

ROLES = ("cards", "memory", "percentage", "cores")


class Names(NamedTuple):
    """Resources of one kind of card. An empty name: a pod cannot request this part of a card.

    `unit`: bytes of one unit of `memory`; `parts`: units of `cores` of a whole card. If a pod does not request memory
    or cores, it gets all of the card's with `all_memory` and `all_cores`, and none otherwise.
    """

    vendor: str
    cards: str
    memory: str = ""
    percentage: str = ""
    cores: str = ""
    unit: int = MIB
    parts: int = 100
    all_memory: bool = True
    all_cores: bool = False
    since: str = ""  # the HAMi that first knows `memory` and `cores`

    @property
    def shared(self) -> bool:
        """Whether a pod can request less than a card."""
        return bool(self.memory or self.percentage or self.cores)


NVIDIA, METAX, SGPU = "nvidia.com/gpu", "metax-tech.com/gpu", "metax-tech.com/sgpu"
VOLCANO = "volcano.sh/vgpu-"
"""The prefix of Volcano's own resources for shares of NVIDIA's cards (volcano-vgpu-device-plugin)."""

HAMI: tuple[Names, ...] = (
    Names("nvidia", NVIDIA, "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"),
    Names("metax", METAX),
    Names("metax", SGPU, "metax-tech.com/vmemory", "", "metax-tech.com/vcore", unit=GIB, all_cores=True),
    Names(
        "amd", "amd.com/gpu", "amd.com/gpumem", "", "amd.com/gpucores", all_memory=False, all_cores=True, since="2.10"
    ),
    Names("ascend", "huawei.com/Ascend*", "huawei.com/Ascend*-memory", "", "huawei.com/Ascend*-core"),
    Names(
        "cambricon",
        "cambricon.com/vmlu",
        "cambricon.com/mlu.smlu.vmemory",
        "",
        "cambricon.com/mlu.smlu.vcore",
        unit=256 * MIB,
        all_cores=True,
    ),
    Names("hygon", "hygon.com/dcunum", "hygon.com/dcumem", "", "hygon.com/dcucores", all_cores=True),
    Names("iluvatar", "iluvatar.ai/*-vgpu", "iluvatar.ai/*.vMem", "", "iluvatar.ai/*.vCore", unit=256 * MIB),
    Names("enflame", "enflame.com/gcu"),
    Names("enflame", "enflame.com/drs-gcu"),
    Names(
        "mthreads",
        "mthreads.com/vgpu",
        "mthreads.com/sgpu-memory",
        "",
        "mthreads.com/sgpu-core",
        unit=512 * MIB,
        parts=16,
    ),
    Names("kunlunxin", "kunlunxin.com/xpu"),
    Names("kunlunxin", "kunlunxin.com/vxpu", "kunlunxin.com/vxpu-memory"),
    Names("nvidia", f"{VOLCANO}number", f"{VOLCANO}memory", f"{VOLCANO}memory-percentage", f"{VOLCANO}cores"),
    Names("aws", "aws.amazon.com/neuron"),
    Names("aws", "aws.amazon.com/neuroncore"),
    Names("vastai", "vastaitech.com/va"),
    Names("biren", "birentech.com/gpu"),
)
"""The default names of HAMi's chart. Plain device plugins use some of the counts too."""


def of_count(resource: str) -> Names | None:
    """The row of a count, with the chip in its names; None for an unknown resource."""
    matched = role(resource)
    return matched[0] if matched and matched[1] == "cards" else None


def role(resource: str) -> tuple[Names, str] | None:
    """The row of a resource, and its role: one of `ROLES`."""
    matched = next(_matches(resource), None)
    return (_filled(matched[0], matched[2]), matched[1]) if matched else None


def _matches(resource: str) -> Iterator[tuple[Names, str, str]]:
    """Longer names come first: `huawei.com/Ascend310P-memory` is not a chip."""
    for part in reversed(ROLES):
        for row in HAMI:
            chip = _chip(getattr(row, part), resource)
            if chip is not None:
                yield row, part, chip


def _chip(pattern: str, resource: str) -> str | None:
    before, star, after = pattern.partition(CHIP)
    if not star:
        return "" if pattern and pattern == resource else None
    inside = resource.removeprefix(before).removesuffix(after)
    return inside if inside and f"{before}{inside}{after}" == resource else None


def _filled(row: Names, chip: str) -> Names:
    if not chip:
        return row
    cards, memory, percentage, cores = (getattr(row, part).replace(CHIP, chip) for part in ROLES)
    return row._replace(cards=cards, memory=memory, percentage=percentage, cores=cores)


def names(kind: AcceleratorKind) -> Names:
    """The names of a kind: the defaults for its count, overridden by the topology."""
    own, count = kind.resources, kind.count_resource
    row = of_count(count) or _renamed(kind, count)
    return row._replace(
        memory=own.get("memory", row.memory),
        percentage=own.get("memoryPercentage", row.percentage),
        cores=own.get("cores", row.cores),
    )


def _renamed(kind: AcceleratorKind, count: str) -> Names:
    """Cards whose count has another name keep the vendor's units; the names of their shares are unknown."""
    like = next((row for row in HAMI if row.vendor == kind.vendor and row.shared), Names(kind.vendor, count))
    return like._replace(cards=count, memory="", percentage="", cores="")
