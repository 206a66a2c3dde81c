"""What bayplan writes into pods itself, so that nobody else may."""

from __future__ import annotations

from collections.abc import Mapping

OWN_FIELDS: Mapping[str, str] = {
    "schedulerName": "the scheduler is chosen by `spec.scheduler`",
    "priorityClassName": "use `spec.priorityClassName`",
    "priority": "use `spec.priorityClassName`",
    "restartPolicy": "use the podSet's `restartPolicy`",
    "nodeName": "it would go past the scheduler; use a `pool` or a `placement`",
    "hostname": "pods find each other by the name they have",
    "subdomain": "pods find each other by the name they have",
    "schedulingGates": "a gated pod would keep its whole gang waiting",
    "schedulingGroup": "the scheduler's marks are bayplan's",
}
"""PodSpec field -> what to do instead."""

OWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "resourceClaims": ("gpu", "nic", "compute-domain"),
    "volumes": ("shm", "files"),
}
"""PodSpec list -> entries that bayplan makes itself."""
