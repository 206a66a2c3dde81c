"""Names of the objects that go with a podSet: shared by all its instances in one gang."""

from __future__ import annotations

from bayplan.model.plan import GangPlan, Pods

COMPUTE_DOMAIN_API = "resource.nvidia.com/v1beta1"


def claim_template_name(gang: GangPlan, pods: Pods) -> str:
    """The GPU claim template of a podSet."""
    return f"{gang.name}-{pods.template}-gpu"


def network_claim_name(gang: GangPlan, pods: Pods) -> str:
    """The claim template of a podSet's network cards."""
    return f"{gang.name}-{pods.template}-nic"


def config_map_name(gang: GangPlan, pods: Pods) -> str:
    """The ConfigMap of a podSet's files."""
    return f"{gang.name}-{pods.template}-files"
