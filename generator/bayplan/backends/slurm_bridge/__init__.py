"""SlinkyProject's slurm-bridge 1.0 to 1.2: pods that Slurm places, one external job for each PodGroup.

The rows declare what it supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from bayplan.backends.slurm_bridge.pod_group import lower, needs, notices, prove
from bayplan.backends.table import table
from bayplan.model.backend import (
    Backend,
    Declaration,
)

TABLE = table("slurm_bridge")

BACKEND = Backend(
    Declaration(
        "slurm-bridge",
        component="slurmBridge",
        support=TABLE.support,
        features=TABLE.features,
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
)
