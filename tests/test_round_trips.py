"""Every format, both ways: what comes back is the topology less the losses that the format declares."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from bayplan.model.topology import ClusterTopology
from random_topologies import topologies
from topology_files import FROM, back, exported, less

slow = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def writable(topology: ClusterTopology, word: str) -> str:
    """The text of an export, where the format takes such a topology and has something to write."""
    text, found = exported(topology, word)
    if text is None:
        assert all(each.code in REFUSED[word] for each in found if each.severity == "error"), found
    assume(text and any(less(topology, word).pools))
    assert text is not None
    return text


REFUSED = {
    "kueue": {"F658"},
    "koordinator": {"F666", "F665"},
    "volcano": {"F667"},
    "slurm": set(),
    "slurm-conf": set(),
    "topograph": set(),
    "topograph-graph": set(),
}
"""Codes with which an export says that the format cannot hold a cluster at all."""


@pytest.mark.parametrize("word", sorted(FROM))
@slow
@given(topology=topologies())
def test_what_comes_back_is_the_topology_less_the_losses(word: str, topology: ClusterTopology) -> None:
    text = writable(topology, word)
    assert less(back(text, word), word) == less(topology, word)
