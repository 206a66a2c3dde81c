"""Topology: a cluster that can exist."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T401": "a node in two places",
    "T402": "a domain with two parents",
    "T403": "the path does not match the levels",
    "T404": "a level with a single domain",
    "T405": "levels in the wrong order",
    "T406": "two NVLink partitions in one domain",
    "T407": "one NVLink partition in two domains",
    "T408": "a level with one node each",
    "T409": "unlike the known hardware",
    "T410": "domains of different size",
    "T411": "fewer usable nodes than planned",
    "T412": "no label syntax",
    "T413": "KAI takes two domains for one",
    "T414": "the hostlist cannot be read",
    "T415": "no name of a Kubernetes node",
    "T416": "two pools have one name",
    "T417": "two levels have one name or label",
    "T418": "the host level is implied",
    "T419": "an unusable node that is not in the pool",
    "T420": "plan stands on a coarse level",
    "T421": "an accelerator that is not declared",
    "T422": "the default queue is not a queue",
    "T423": "a version that is too old",
    "T424": "a version that is not known",
    "T425": "a pool without nodes",
    "T426": "not an amount",
    "T427": "unusable for two reasons",
    "T428": "two lines for one domain",
    "T429": "an accelerator without a count",
    "T430": "the pool's template sets what is not its own",
    "T431": "cards without a resource name",
    "T432": "NVLink without NVIDIA",
    "T433": "pools that nothing separates",
    "T435": "a parent among the queues",
    "T436": "the default pool is no pool",
}
