"""The matrix of a gang whose copies are pods of one Indexed Job: a table in a ConfigMap, and a shell that reads it.

Kubernetes cannot give the pods of a Job different variables. So a shell sets them by the pod's index
(`kube.shell.started`).
"""

from __future__ import annotations

from bayplan.kube.kinds import INDEX_VARIABLE, gang_labels
from bayplan.kube.shell import table_of_rows
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.plan import GangPlan, Plan

VOLUME = "bayplan-matrix"
FOLDER, FILE = "/etc/matrix", "rows.sh"
SHELL = f". {FOLDER}/{FILE}"
"""What sets the variables."""


def config_map(plan: Plan, gang: GangPlan) -> Manifest:
    """The table. Its name has a dot, which no name of a gang or podSet has."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _name(gang), "labels": gang_labels(plan, gang)},
        "data": {FILE: table_of_rows(INDEX_VARIABLE, gang.gang.rows)},
    }


def _name(gang: GangPlan) -> str:
    return f"{gang.name}.matrix"


def mounted(gang: GangPlan) -> PodParts:
    """The table in a pod."""
    return PodParts(
        volumes=({"name": VOLUME, "configMap": {"name": _name(gang)}},),
        mounts=({"name": VOLUME, "mountPath": FOLDER},),
    )
