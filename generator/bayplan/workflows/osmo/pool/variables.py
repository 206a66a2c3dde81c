"""What pod templates and rules may name, and its values for a task (postgres.py, ResourceSpec.get_allocatable_tokens).

`USER_MEMORY` and `USER_STORAGE` are spelled as Kubernetes reads them, and their parts follow the value that holds, also
where it is a default; OSMO leaves the parts of a default empty. What only a running OSMO knows has no value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from bayplan.diagnostics import Outcome, Route, error
from bayplan.workflows.osmo.pool.values import Ask, Platform, PoolConfig
from bayplan.workflows.osmo.units import UNITS, k8s_name, quantity, split_amount

Value = str | int | float | None

PARTS = ("Ti", "Gi", "Mi", "Ki", "B", "m")
"""Units in which templates may ask for an amount: `USER_MEMORY_Gi`."""

UNKNOWN = ("WF_SUBMITTED_BY",)
"""Variables that have a value only in a running OSMO."""

CONTAINER = "main"
"""The user's container where the native format gives it no name."""

LONGEST = 63


def of_task(config: PoolConfig, platform: Platform, ask: Ask) -> Outcome[dict[str, Value]]:
    """Every variable of one task. A value of None: known, and not given. W488 for an amount that is none."""
    amounts = {"MEMORY": quantity(ask.memory), "STORAGE": quantity(ask.storage)}
    own: dict[str, Value] = {
        "USER_CPU": float(ask.cpu) if ask.cpu else None,
        "USER_GPU": int(ask.gpu) if ask.gpu else None,
        **{f"USER_{name}": value for name, value in amounts.items()},
    }
    made: dict[str, Value] = {**own, **platform.variables}
    made |= {name: value for name, value in own.items() if value is not None}
    for name in amounts:
        made[f"USER_{name}"] = quantity(made[f"USER_{name}"]) or made[f"USER_{name}"]
        made |= _parts(f"USER_{name}", made[f"USER_{name}"])
    cache = _cache(ask.cache or str(made.get("USER_CACHE") or ""), str(made["USER_STORAGE"] or "0Mi"))
    if cache is None:
        place: Route = ask.places.get("cache", ask.route)
        message = f'"{ask.cache or made.get("USER_CACHE")}" is no size of a cache'
        hint = "write a share such as 50%, or an amount such as 10Gi"
        return Outcome(None, (error("W488", place, message, hint=hint),))
    made["USER_CACHE"] = cache
    made["USER_EXCLUDED_NODES"] = f"ARRAY:[{','.join(ask.excluded)}]"
    made["USER_CONTAINER_NAME"] = ask.container or CONTAINER
    return Outcome({**made, **of_group(config, ask), **_of_workflow(platform, ask)})


def of_group(config: PoolConfig, ask: Ask) -> dict[str, Value]:
    """The variables of a whole task group, the only ones that group templates see.

    OSMO draws random numbers for the UUIDs; these are made of the names, so that the same input gives the same output.
    """
    return {
        "WF_ID": _label(ask.workflow),
        "WF_UUID": _uuid(ask.workflow),
        "WF_GROUP_NAME": _label(ask.group),
        "WF_GROUP_UUID": _uuid(ask.workflow, ask.group),
        "WF_POOL": config.name,
    }


def _of_workflow(platform: Platform, ask: Ask) -> dict[str, Value]:
    lead: dict[str, Value] = {"WF_LEAD_CONTAINER": "true"} if ask.lead else {}
    return {
        "WF_TASK_NAME": _label(ask.task),
        "WF_TASK_UUID": _uuid(ask.workflow, ask.group, ask.task),
        "WF_RETRY_ID": "0",
        "WF_PLATFORM": platform.name,
        "WF_PRIORITY": ask.priority.lower(),
        **dict.fromkeys(UNKNOWN),
        **lead,
    }


def of_node(resources: Mapping[str, int], accelerators: int) -> dict[str, Value]:
    """What rules may ask of a node; resources are thousandths. A resource that is not stated has no value."""
    cpu, memory, storage = (resources.get(name) for name in ("cpu", "memory", "ephemeral-storage"))
    return {
        "K8_CPU": None if cpu is None else str(cpu // 1000),
        "K8_GPU": str(accelerators),
        "K8_MEMORY": None if memory is None else f"{memory // 1000 // 1024}Ki",
        "K8_STORAGE": None if storage is None else f"{storage // 1000 // 1024}Ki",
    }


def _parts(name: str, value: Any) -> dict[str, Value]:
    """An amount's number, its unit, and the amount in every unit, as numbers."""
    parts = split_amount(value) if value is not None else None
    if parts is None:
        return dict.fromkeys([f"{name}_VAL", f"{name}_UNIT", *(f"{name}_{unit}" for unit in PARTS)])
    number, unit = parts
    size = number * Fraction(2) ** UNITS[unit]
    plain = str(int(number)) if number.denominator == 1 else str(float(number))
    units: dict[str, Value] = {f"{name}_{each}": float(size / Fraction(2) ** UNITS[each]) for each in PARTS}
    return {f"{name}_VAL": plain, f"{name}_UNIT": unit or "B", **units}


def _cache(asked: str, storage: str) -> str | None:
    """The size of the cache: what is asked, a share of the storage, or nine tenths of it. None where it is no size."""
    number, unit = split_amount(storage) or (Fraction(0), "Mi")
    if not asked:
        return f"{math.floor(number * 9 / 10)}{unit or 'B'}"
    if not asked.endswith("%"):
        return quantity(asked)
    share = asked[:-1]
    if not (share.replace(".", "", 1).isascii() and share.replace(".", "", 1).isdigit()) or float(share) > 100:
        return None
    return f"{math.floor(number * math.floor(float(share)) / 100)}{unit or 'B'}"


def _label(name: str) -> str:
    """A name cut to the length of a label value."""
    return name if len(name) <= LONGEST else name[:LONGEST].rstrip("-_")


def _uuid(*names: str) -> str:
    """32 hexadecimal digits that stand for these names."""
    return hashlib.sha256("\0".join(map(k8s_name, names)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
