"""Fabrics of a topology: checked by themselves, written as network objects, made of them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T600": "a resource that its plugin does not define",
    "T601": "a kind of network that the links do not carry",
    "T602": "a rail that lacks something",
    "T603": "a card twice",
    "T604": "a setting without effect",
    "T605": "no address",
    "T606": "too few addresses",
    "T607": "a gateway outside of its subnet",
    "T608": "rails in one subnet",
    "T609": "rails that share a resource",
    "T610": "a fabric without nodes, nodes without the fabric",
    "T611": "a name that no interface can have",
    "T612": "a network that pods cannot use",
    "T613": "what network objects need to be told",
    "T614": "what the operator's version does not take",
    "T615": "what must be set up beside network objects",
    "T616": "network objects that cannot be read",
    "T617": "what network objects leave open",
    "T618": "fabrics that contradict each other",
    "T619": "cards that differ among nodes",
    "T620": "cards that pods cannot share",
    "T621": "RDMA without the right to pin memory",
    "T622": "a selector that is no expression",
}
