"""TorchX applications: what they say that manifests cannot, and what they likely do not mean."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W570": "parts of an image that only TorchX builds",
    "W571": "RDMA devices by a folder of the node",
    "W572": "replicas that start again by themselves",
    "W573": "a variable of another scheduler's",
    "W574": "names that Kubernetes would not take",
    "W575": "no CPU or no memory asked for",
    "W576": "a device that a plugin hands in",
    "W577": "a mount that no pod can have",
    "W579": "a capability that chooses no nodes",
    "W580": "an instance type that is no pool",
    "W581": "a variable that a macro needs",
    "W583": "an overlay for every replica",
    "W584": "an overlay that does not fit pods",
    "W586": "an overlay in another file",
    "W587": "torchrun counts otherwise than the workflow",
    "W588": "metadata that reaches no pod",
    "W589": "metadata that bayplan does not know",
    "W590": "pods that take themselves for rank 0",
    "W591": "an argument of TorchX' scheduler",
    "W592": "less than a whole node",
    "W593": "more replicas than there are",
    "W594": "cards that no fabric has",
    "W595": "networks and devices that do not go together",
    "W596": "more than one share of a card",
    "W597": "more of a network than its name",
    "W598": "no value of a label",
    "W599": "a reference that Kubernetes refuses",
}
"""Code -> what it is about."""
