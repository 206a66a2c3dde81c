"""Which nodes and cards are liked best: annotations of HAMi.

HAMi 2.10.0: `pkg/util/types.go`, `pkg/scheduler/policy/`, `pkg/device/metax/{device,sdevice,protocol}.go`.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.kube.vendors import SGPU, names
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator

NODE, CARDS = "hami.io/node-scheduler-policy", "hami.io/gpu-scheduler-policy"
WEIGHTS = "hami.io/device-scoring-weights"
SGPU_TOPOLOGY, SGPU_CLASS, SGPU_QOS = (
    f"metax-tech.com/sgpu-{key}" for key in ("topology-aware", "app-class", "qos-policy")
)
VNPU_MODE, SOFT = "huawei.com/vnpu-mode", "hami-core"

LINKED = ("nvidia", "ascend")
"""Vendors of whose cards HAMi knows the links, and can choose cards by them."""


def notes(asked: Accelerator, kind: AcceleratorKind) -> dict[str, str]:
    """Those that the pod template carries."""
    made = {NODE: node(asked, kind), CARDS: cards(asked, kind), SGPU_CLASS: asked.app_class, SGPU_QOS: asked.qos}
    if asked.links and names(kind).cards == SGPU:
        made[SGPU_TOPOLOGY] = "true"
    if asked.cores and kind.vendor == "ascend":
        made[VNPU_MODE] = SOFT
    return {key: value for key, value in made.items() if value}


def node(asked: Accelerator, kind: AcceleratorKind) -> str:
    """Whole cards of MetaX: `spread` takes the node with the best links for the pod, whatever the word says."""
    return asked.node or ("spread" if asked.links and by_node(kind) else "")


def cards(asked: Accelerator, kind: AcceleratorKind) -> str:
    """`topology-aware` is about links; any other policy is the user's."""
    return asked.cards or ("topology-aware" if asked.links and kind.vendor in LINKED else "")


def by_node(kind: AcceleratorKind) -> bool:
    """Whether links are chosen with the node, and MetaX's device plugin then takes the cards."""
    return kind.vendor == "metax" and names(kind).cards != SGPU


LINKS: Mapping[str, str] = {
    "guaranteed": "HAMi likes cards with good links, and takes others where there are none",
    "restricted": "HAMi likes cards with good links, and takes others where there are none",
}
"""What nobody can promise, and why."""
