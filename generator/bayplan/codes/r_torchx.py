"""Reading what TorchX prints and takes."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "R140": "an application that is cut off",
    "R141": "an application with odd values",
    "R142": "no request of TorchX'",
    "R143": "a component that bayplan does not know",
    "R144": "wrong arguments of a component",
    "R145": "replicas that differ",
    "R146": "two applications in one file",
}
"""Code -> what it is about."""
