"""Every format, both ways: what comes back is the topology less the losses that the format declares."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from bayplan.core.diagnostics import has_errors
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.plugins.slurm.topology import slinky
from bayplan.text.emit import emit
from bayplan.topologies import FROM as FROM_WORDS
from bayplan.topologies import losses, node_labels
from random_topologies import topologies
from tools import loss_table
from tools.effort import examples, sample
from topology_files import FROM, back, exported, imported, less, nodes_of
from topology_files import topology as read

slow = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
few, many = settings(slow, max_examples=examples(3, 8)), settings(slow, max_examples=examples(10, 40))
FRAMES = ("kai", "kueue", "koordinator")
"""Formats that name no nodes."""

PAIRS = [(one, two) for one in sorted(FROM) for two in sorted(FROM) if one not in FRAMES]
"""A file without nodes is the end: it has to be joined with nodes before anything is written of it."""


def written(topology: ClusterTopology, word: str) -> str:
    """The text of an export. Topologies that the format refuses, or has nothing to say of, are no examples."""
    text, found = exported(topology, word)
    if text is None:
        assert has_errors(found)
        assert all(each.code[0] == "F" for each in found if each.severity == "error"), found
    left = less(topology, word)
    assume(text and left.pools and (word in FRAMES or any(pool.domains for pool in left.pools)))
    assume(word != "volcano" or len({len(pool.levels) for pool in topology.pools if pool.levels}) == 1)
    assert text is not None
    return text


@pytest.mark.parametrize("word", sorted(FROM))
@many
@given(topology=topologies())
def test_what_comes_back_is_the_topology_less_the_losses(word: str, topology: ClusterTopology) -> None:
    assert less(back(written(topology, word), word), word) == less(topology, word)


@pytest.mark.parametrize("word", sorted(losses.losses_by_word()))
@many
@given(topology=topologies())
def test_what_is_lost_is_lost_once(word: str, topology: ClusterTopology) -> None:
    assert less(less(topology, word), word) == less(topology, word)


@pytest.mark.parametrize(("one", "two"), sample(PAIRS, 1))
@few
@given(topology=topologies(most=2))
def test_from_one_format_to_the_next(one: str, two: str, topology: ClusterTopology) -> None:
    """What came back from one format is a topology as good as any other."""
    first = back(written(topology, one), one)
    assume(two in FRAMES or nodes_of(first))
    second = back(written(first, two), two)
    assert less(second, two) == less(first, two)


@many
@given(topology=topologies())
def test_an_export_tells_what_it_loses(topology: ClusterTopology) -> None:
    for word in sorted(set(losses.losses_by_word()) - {losses.DISCOVERED}):
        _, found = exported(topology, word)
        told = [each for each in found if each.code == "T580"]
        kept = less(topology, word) == topology
        assert has_errors(found) or not told or not kept
        assert all(each.severity == "info" for each in told)


def test_every_format_that_is_written_declares_its_losses() -> None:
    from bayplan.backends import BACKENDS
    from bayplan.topologies import WRITTEN

    silent = {"none", "native", "slurm-bridge", "sunk"}
    assert set(losses.losses_by_word()) - {losses.DISCOVERED} == {*BACKENDS, *WRITTEN} - silent


def test_every_format_that_is_written_can_be_read() -> None:
    assert set(FROM.values()) <= set(FROM_WORDS)
    assert set(losses.losses_by_word()) - set(FROM) <= {"slinky", "node-labels", "network-operator", losses.DISCOVERED}


def test_slurm_before_2505_loses_what_a_topology_conf_loses() -> None:
    nothing = ClusterTopology("hall", ())
    assert losses.lost("slurm", nothing, Target({"slurm": "24.11"})) == losses.losses_by_word()["slurm-conf"]


@many
@given(topology=topologies())
def test_levels_come_back_from_volcanos_discovery(topology: ClusterTopology) -> None:
    found = topology._replace(schedulers={"volcano": {"hyperNodes": "discovered"}})
    text, _ = exported(found, "volcano")
    wanted = less(found, "volcano")
    assume(text and wanted.pools)
    said = imported(("config.yaml", text or ""))
    assert said.code == 0, said.err
    assert less(read(said.out), "volcano") == wanted


@many
@given(topology=topologies(depths=(2,)))
def test_labels_come_back_from_the_nodes_that_carry_them(topology: ClusterTopology) -> None:
    """Which labels are levels, coarse to fine, whoever imports them has to know."""
    assume(all(level.unique == "global" for pool in topology.pools for level in pool.levels))
    text, _ = exported(topology, "node-labels")
    wanted = less(topology, "node-labels")
    assume(text and len(wanted.pools) == 1 and nodes_of(wanted))
    options = [word for level in wanted.pools[0].levels for word in ("--level", level.label)]
    said = imported(("nodes.yaml", text or ""), options=tuple(options))
    assume("T509" not in said.err)  # a level of single nodes is left out, and it says so
    assert said.code == 0, said.err
    assert less(read(said.out), "node-labels") == wanted


def test_the_documentation_lists_the_losses() -> None:
    """`python tests/tools/refresh_docs.py` writes them."""
    page = loss_table.PAGE.read_text(encoding="utf-8")
    assert loss_table.renewed(page) == page
    assert loss_table.table() in page


def test_labels_of_100_000_nodes_are_written_in_a_moment() -> None:
    rows = tuple(Domain((f"s{n // 40}", f"r{n}"), tuple(f"n{n:04}-{i:02}" for i in range(18))) for n in range(5600))
    levels = (Level("spine", "x.io/spine", apply=True), Level("rack", "x.io/rack", apply=True))
    topology = ClusterTopology("hall", (Pool("gpu", NodeShape(), levels, rows),))
    for module in (node_labels, slinky):
        text = "".join(emit(module.write(topology, Target())))
        assert text.count("kind: Node\n") == 100_800
