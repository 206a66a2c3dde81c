"""The matrix of a gang whose copies are pods of one Indexed Job: a table in ConfigMaps, and a shell that reads it.

Kubernetes cannot give the pods of a Job different variables. So a shell sets them by the pod's index
(`kube.shell.started`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.kube.kinds import INDEX_VARIABLE, gang_labels
from bayplan.kube.pod import CONFIG_MAP_LIMIT
from bayplan.kube.shell import table_of_rows
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.plan import GangPlan, Plan

VOLUME = "bayplan-matrix"
FOLDER, FILE = "/etc/matrix", "rows.sh"


def config_maps(plan: Plan, gang: GangPlan) -> Iterator[Manifest]:
    """The table: as few ConfigMaps as hold it. Their names have a dot, which no name of a gang or podSet has."""
    for number, data in enumerate(tables(gang)):
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _name(gang, number), "labels": gang_labels(plan, gang)},
            "data": {_file(number): data},
        }


def mounted(gang: GangPlan, number: int) -> PodParts:
    """The table, which is in so many ConfigMaps, in a pod."""
    names = [_name(gang, each) for each in range(number)]
    several = {"projected": {"sources": [{"configMap": {"name": name}} for name in names]}}
    source = several if len(names) > 1 else {"configMap": {"name": names[0]}}
    return PodParts(
        volumes=({"name": VOLUME, **source},),
        mounts=({"name": VOLUME, "mountPath": FOLDER},),
    )


def shell(number: int) -> str:
    """What sets the variables: in all files but one, no row has the index of the pod."""
    return "\n".join(f". {FOLDER}/{_file(each)}" for each in range(number))


def tables(gang: GangPlan) -> Sequence[str]:
    """The data of each ConfigMap."""
    return table_of_rows(INDEX_VARIABLE, gang.gang.rows, CONFIG_MAP_LIMIT)


def _name(gang: GangPlan, number: int) -> str:
    return f"{gang.name}.matrix{_part(number)}"


def _file(number: int) -> str:
    return FILE.replace(".", f"{_part(number)}.")


def _part(number: int) -> str:
    return f"-{number + 1}" if number else ""
