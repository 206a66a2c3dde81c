"""Manifests that others wrote: secondary networks, and the pods that ask for them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M840": "networks that no pod asks for",
    "M841": "pods of one workload on different networks",
    "M842": "an annotation that Multus refuses",
    "M843": "a network that is missing",
    "M844": "networks without their devices",
    "M845": "an interface that cannot be called so",
    "M846": "an extended resource that is not whole",
    "M847": "RDMA without IPC_LOCK",
    "M848": "a network that the links do not carry",
    "M849": "addresses that cannot be given out",
    "M850": "a network object that is refused",
    "M851": "a plugin's configuration that is refused",
    "M852": "variables that name a wrong interface",
    "M853": "networks beside the host's",
    "M854": "a field that the operator does not have",
    "M855": "rails in one subnet",
    "M856": "settings of a card that dranet refuses",
    "M857": "a constraint that no devices meet",
    "M858": "a pod on a network that its namespace refuses",
    "M859": "a pod on a network that OpenShift refuses",
    "M860": "RDMA without root",
    "M861": "a rendezvous at an address of a rail",
    "M862": "rails of a whole node that stay idle",
    "M863": "NVLink between nodes without a ComputeDomain",
}
