"""Workflow: podSets on fabrics."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W520": "a rail that the fabric does not have",
    "W521": "a pool that is not on the fabric",
    "W522": "a network that no fabric has",
    "W523": "an attachment where Multus does not look",
    "W524": "a member of the rendezvous that is not attached",
    "W525": "a rail's resource is asked for twice",
    "W526": "a second attachment in the template",
    "W527": "an interface that cannot be called so",
    "W528": "request and limit of a device differ",
    "W529": "Gloo's interface is no name",
    "W530": "NCCL takes a name for the beginning of names",
    "W531": "a fixed row of the GID table",
    "W532": "an interface that the pod does not have",
    "W533": "a rendezvous over the fabric that cannot work",
    "W534": "bootstrap over a fabric without a known interface",
    "W535": "a master address that no pod is known to have",
    "W536": "attachments of a pod in its node's network",
    "W537": "names of pods are not found in the node's network",
    "W538": "a card that two parties hand out",
    "W539": "GPUs and cards that cannot be aligned",
    "W540": "more cards than a claim holds",
    "W541": "NVLink between nodes is required outside a ComputeDomain",
    "W542": "rails of a whole node are left out",
    "W543": "the list of RDMA devices and the rails differ",
    "W544": "the interface of the node is not known",
    "W545": "variables that the workload must set itself",
    "W546": "more RDMA devices than NCCL reads",
    "W547": "a network without its device",
    "W548": "several masters on one port of a node",
}
