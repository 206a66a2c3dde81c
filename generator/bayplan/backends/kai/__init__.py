"""KAI scheduler 0.10 to 0.17: one PodGroup a gang, one subgroup a group instance."""

from __future__ import annotations

from bayplan.backends.kai.cluster import cluster_objects
from bayplan.backends.kai.pod_group import lower, needs
from bayplan.backends.kai.read import intent, read
from bayplan.backends.kai.support import SUPPORT
from bayplan.backends.kai_estimate import estimate as prove

NAME = "kai"
COMPONENT = "kai"
KINDS = ("jobset", "job", "pods")

__all__ = ["COMPONENT", "KINDS", "NAME", "SUPPORT", "cluster_objects", "intent", "lower", "needs", "prove", "read"]
