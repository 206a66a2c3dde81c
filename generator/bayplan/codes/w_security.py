"""What pods may do, and what their namespace lets in."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W630": "a fabric that the namespace refuses",
    "W631": "locked memory without root",
    "W632": "OpenShift without an SCC",
    "W633": "a pod that the namespace refuses",
    "W634": "what a restricted namespace wants said",
    "W635": "an SCC that must be bound",
    "W636": "RDMA without IPC_LOCK",
}
"""Code -> what it is about."""
