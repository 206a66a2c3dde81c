"""One file per topology format. Each reads its format into a `ClusterTopology`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayplan.model.topology import ClusterTopology
from bayplan.topologies import native

if TYPE_CHECKING:
    from bayplan.model.formats import Format

FORMATS: Mapping[str, Format[ClusterTopology]] = {native.NAME: native}
"""By name, in the order in which they sniff."""
