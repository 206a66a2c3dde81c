"""The same cluster, told by every source there is: one golden, many sources."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from bayplan.topologies import READ
from one_cluster import NODES, sources, tree
from tools.run import ROOT
from topology_files import imported, topology

GOLDEN = ROOT / "golden" / "topologies"
TOLD = sources()
BESIDE = {
    "slurm-nodes",
    "resource-slices",
    "nmx",
    "launch-kit",
    "volcano-discovery",
    "topograph-request",
    "network-operator",
}
"""Formats that do not tell of two levels: of nodes alone, of labels alone, of NVLink alone."""


class OneExtension(SingleFileSnapshotExtension):
    """One file for all sources."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of topologies. Asked of every test, so also of other modules'."""
        ours = test_location.filepath == __file__
        return str(GOLDEN) if ours else super().dirname(test_location=test_location)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: int | str = 0) -> str:
        """The cluster."""
        ours = test_location.filepath == __file__
        return "one-cluster" if ours else super().get_snapshot_name(test_location=test_location, index=index)


@pytest.mark.parametrize("source", sorted(TOLD))
def test_every_source_tells_of_the_same_cluster(source: str, snapshot: SnapshotAssertion) -> None:
    told = TOLD[source]
    said = imported(*told.files, options=told.options)
    assert said.code == 0, said.err
    read = topology(said.out)
    assert tree((row.path, row.nodes) for pool in read.pools for row in pool.domains) == snapshot(
        extension_class=OneExtension
    )
    if told.named:
        places = {node: row.path[-2:] for pool in read.pools for row in pool.domains for node in row.nodes}
        assert places == {node.name: (node.spine, node.rack) for node in NODES}


def test_every_format_tells_of_it() -> None:
    heads = {name.partition("-")[0] for name in TOLD}
    assert {word for word in READ if word.partition("-")[0] not in heads} <= BESIDE


def test_there_is_one_golden() -> None:
    assert [path.name for path in GOLDEN.iterdir()] == ["one-cluster.txt"]
