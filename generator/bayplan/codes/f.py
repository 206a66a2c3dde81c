"""Fidelity: what a plan needs and a backend or workload kind cannot carry."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "F600": "a feature the backend says nothing of",
    "F601": "work without a queue",
    "F602": "groups kept apart cannot be carried",
    "F603": "one placement over pools with different levels cannot be carried",
    "F604": "optional groups",
    "F605": "GPUs claimed through DRA",
    "F606": "gangs that wait for others",
    "F607": "a lead podSet",
    "F608": "restarts of the whole gang",
    "F610": "removal after the end",
    "F611": "pods that always restart",
    "F612": "long node names",
    "F613": "names too long for pods",
    "F614": "too many levels",
    "F616": "a Job",
    "F617": "a JobSet",
    "F621": "clean-up by adoption",
    "F622": "long names of group instances",
    "F623": "long level labels",
    "F634": "delays before preemption or eviction",
    "F635": "claims that no quota counts",
    "F636": "optional pods in a chosen domain",
    "F637": "a queue without a parent",
}
