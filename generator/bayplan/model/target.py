"""The versions of a plan's target. Only this module compares versions."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

# The NVIDIA DRA driver went from calendar to semantic versions: 25.3 < 25.8 < 25.12 < 0.4 (dra-driver-nvidia-gpu tags).
KNOWN: Mapping[str, tuple[str, ...]] = {
    "kubernetes": ("1.32", "1.33", "1.34", "1.35", "1.36", "1.37"),
    "kai": ("0.10", "0.12", "0.13", "0.14", "0.15", "0.16", "0.17", "0.18"),
    "draDriver": ("25.3", "25.8", "25.12", "0.4"),
    "jobset": ("0.8", "0.9", "0.10", "0.11", "0.12"),
    "lws": ("0.7", "0.8", "0.9", "0.10"),
    "volcano": ("1.14", "1.15", "1.15.1"),
    "kueue": ("0.14", "0.15", "0.16", "0.17", "0.18", "0.19", "0.20"),
    "koordinator": ("1.7", "1.8"),
    "trainer": ("2.0", "2.1", "2.2", "2.3"),
    "grove": ("0.1",),
    "mpiOperator": ("0.6", "0.7", "0.8"),
    "slurm": ("24.11", "25.05", "25.11"),
    "slurmBridge": ("1.0", "1.1", "1.2"),
    "sunk": ("7.6", "8.1", "8.2"),
    "networkOperator": ("25.7", "25.10", "26.1", "26.4", "26.7"),
    "hami": ("2.8", "2.9", "2.10"),
    "metax": ("0.7", "0.8"),
    "nvidiaDevicePlugin": ("0.12", "0.13", "0.14", "0.15", "0.16", "0.17", "0.18", "0.19", "0.20"),
}
"""Component -> the minor versions that bayplan knows, oldest first; the newest may have a patch."""

TITLES: Mapping[str, str] = {
    "kubernetes": "Kubernetes",
    "kai": "KAI",
    "jobset": "JobSet",
    "lws": "LeaderWorkerSet",
    "volcano": "Volcano",
    "kueue": "Kueue",
    "koordinator": "Koordinator",
    "trainer": "Kubeflow Trainer",
    "grove": "Grove",
    "mpiOperator": "mpi-operator",
    "slurm": "Slurm",
    "slurmBridge": "slurm-bridge",
    "sunk": "SUNK",
}
"""Component -> what messages call it; the components that rows of support name."""

CALENDAR_ERA = 20
"""A draDriver major version from this number on is a year, and older than any semantic version."""


class Target(NamedTuple):
    """Component -> version as the user wrote it; a missing component is the newest known."""

    versions: Mapping[str, str] = {}

    def version(self, component: str) -> str:
        """The version of a component: the given one, otherwise the newest known."""
        return self.versions.get(component) or KNOWN[component][-1]

    def title(self, component: str) -> str:
        """For messages: `KAI 0.17`."""
        return f"{TITLES[component]} {self.version(component)}"

    def since(self, component: str, version: str) -> bool:
        """Whether the target's component is that version or later."""
        return order(component, self.version(component)) >= order(component, version)

    def between(self, component: str, since: str, until: str) -> bool:
        """Whether since <= version < until; an empty bound is open."""
        return (not since or self.since(component, since)) and not (until and self.since(component, until))


@cache
def order(component: str, version: str) -> tuple[int, ...]:
    """A sortable form of a version. A version without a patch is its lowest patch."""
    numbers = tuple(int(part) for part in version.split("."))
    padded = numbers + (0,) * (3 - len(numbers))
    if component == "draDriver":
        return (0 if numbers[0] >= CALENDAR_ERA else 1, *padded)
    return padded


def minor(version: str) -> str:
    """`0.17.3` -> `0.17`."""
    return ".".join(version.split(".")[:2])
