"""OSMO pool configurations beside a workflow."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W471": "no pool configuration of OSMO",
    "W472": "which pool is meant",
    "W473": "a pool of another name",
    "W474": "a key that OSMO ignores",
    "W475": "a template or validation that is not there",
    "W476": "a default platform that is not there",
    "W477": "topology keys that KAI refuses",
    "W478": "a node label that the topology does not have",
    "W479": "topology keys in another order",
    "W480": "a group template that is no object",
    "W481": "a rule that OSMO cannot evaluate",
    "W482": "a rule that is not looked at",
    "W483": "a rule of the platform is broken",
    "W484": "a right that the platform does not give",
    "W485": "a mount that is there already",
    "W486": "no such platform",
    "W487": "a variable without a value",
    "W488": "a text that cannot be filled in",
    "W489": "what is about OSMO's own containers",
    "W490": "a ComputeDomain that bayplan makes itself",
    "W491": "a group template that is not carried",
    "W492": "a field of a pod template that is left out",
    "W493": "a timeout that is no duration",
    "W494": "what OSMO's chart brings",
    "W495": "pod templates that do not go together",
    "W496": "requests that are not the limits",
    "W497": "a topology without nodes",
    "W498": "a topology and a pool configuration that differ",
    "W499": "no way to edit a file",
}
"""Code -> what it is about."""
