"""SlinkyProject's slurm-bridge 1.0 to 1.2: pods that Slurm places, one external job for each PodGroup.

The rows declare what it supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from bayplan.plugin import Backend, Declaration
from bayplan.plugin import support_table as table
from bayplan.plugins.slurm.bridge.pod_group import lower, needs, notices, prove

TABLE = table("plugins", "slurm", "bridge")

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
