"""What a line of Slurm's nodes says of each of them: CPUs and memory for jobs, state, place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bayplan.model.topology import Level
from bayplan.topologies import grouping

MIB = 2**20 * 1000
REASONS: Mapping[str, str] = {
    "FAIL": "unhealthy",
    "FAILING": "unhealthy",
    "ERROR": "unhealthy",
    "INVALID_REG": "unhealthy",
    "INVALID": "unhealthy",
    "INVAL": "unhealthy",
    "DOWN": "notReady",
    "NOT_RESPONDING": "notReady",
    "DRAIN": "cordoned",
    "DRAINED": "cordoned",
    "DRAINING": "cordoned",
    "MAINT": "reserved",
    "MAINTENANCE": "reserved",
    "RESERVED": "reserved",
}
"""State of a node -> why it cannot be used, the gravest first (Slurm 24.11 to 25.11, slurm_protocol_defs.c)."""
WELL = frozenset(
    (
        *("IDLE", "ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP"),
        *("PLANNED", "PERFCTRS", "RESUME", "UNDRAIN"),
        *("UNKNOWN", "CLOUD", "EXTERNAL", "FUTURE", "DYNAMIC_NORM", "DYNAMIC_FUTURE"),
        *("POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP", "POWER_DRAIN"),
        *("REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT_CANCEL", "REBOOT_CANCELED", "CANCEL_REBOOT"),
    )
)
"""States of nodes that can be used: those that are switched off or started anew come back by themselves."""


def amounts(pairs: Mapping[str, str]) -> dict[str, int]:
    """CPUs and memory that jobs can have."""
    cpus = _number(pairs, "cpuefctv") or _number(pairs, "cpus") or _number(pairs, "cputot") or _cores(pairs)
    memory = _number(pairs, "realmemory") - _number(pairs, "memspeclimit")
    return {**({"cpu": cpus * 1000} if cpus else {}), **({"memory": memory * MIB} if memory > 0 else {})}


def _cores(pairs: Mapping[str, str]) -> int:
    sockets = _number(pairs, "sockets") or _number(pairs, "socketsperboard") * (_number(pairs, "boards") or 1)
    return sockets * (_number(pairs, "corespersocket") or 1) * (_number(pairs, "threadspercore") or 1)


def _number(pairs: Mapping[str, str], key: str) -> int:
    said = pairs.get(key, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 13 else 0


def states(state: str) -> list[str]:
    """`MIXED+CLOUD*` -> MIXED, CLOUD."""
    return [each.rstrip("*~#!%$@^-") for each in state.split("+")]


@cache
def reason(state: str) -> str:
    """`IDLE+DRAIN` -> cordoned; a star says that the node does not answer."""
    known = {*states(state.upper()), *(("NOT_RESPONDING",) if "*" in state else ())}
    return next((why for word, why in REASONS.items() if word in known), "")


@cache
def unknown(state: str) -> tuple[str, ...]:
    """The words of a state that we can say nothing of; `BLOCKED` by a job that has its switch alone is one of them."""
    return tuple(each for each in states(state.upper()) if each and each not in WELL and each not in REASONS)


@cache
def place(said: str) -> tuple[tuple[Level, ...], tuple[str, ...]]:
    """`default:core:leaf1` of `Topology=`: the units above a node, coarse to fine. Of several topologies the first."""
    path = tuple(grouping.value(each) or "none" for each in said.split(",")[0].split(":")[1:])
    names = ["block"] if len(path) == 1 else [f"switch-{height}" for height in range(len(path) - 1, -1, -1)]
    return tuple(Level(name, f"{grouping.UNKNOWN}/{name}", apply=True) for name in names if path), path
