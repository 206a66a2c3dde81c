"""Topograph's model file: switches above blocks of nodes (Topograph 0.5 and 1.0, docs/modeling.md, pkg/models).

`switches`: name -> child switches, labels, annotations; `blocks`: nodes, their switch, labels, annotations. Labels and
annotations are inherited downward; a block's own win. A leaf switch may go without an entry of its own.
"""

from __future__ import annotations

import re

from bayplan.core.diagnostics import Outcome
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.manifest import File
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

NAME = "topograph"
FILE = "model.yaml"
_SNIFF = re.compile(r'^(?:\{\s*)?"?(?:switches|blocks)"?\s*:(?:\s|$)', re.MULTILINE)


def sniff(source: SourceFile) -> bool:
    """Whether it is a mapping of switches and blocks."""
    if not _SNIFF.search(source.head):
        return False
    data = source.documents[0].data if source.documents else None
    return isinstance(data, dict) and bool(data) and data.keys() <= {"switches", "blocks"}


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The blocks below their switches."""
    from bayplan.topologies.topograph import model as topograph_model

    return topograph_model.new(source, asked)


def write(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """A model file with one block for each domain."""
    from bayplan.topologies.topograph import writing as topograph_write

    return (File(FILE, topograph_write.model(topology)),)
