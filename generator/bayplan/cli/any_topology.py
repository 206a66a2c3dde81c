"""A cluster topology from any file: a topology file, or a source of `topology import`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bayplan import pipeline
from bayplan.cli import inputs
from bayplan.cli.files import UnreadableError
from bayplan.cli.options import Arguments
from bayplan.cli.source_files import OpenedFile
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.phrases import suggest
from bayplan.model.topology import HOST_LEVEL, ClusterTopology
from bayplan.report import Batch
from bayplan.text import document
from bayplan.topologies import native

if TYPE_CHECKING:
    from bayplan.cli.topology_sources import Picked


class LoadedTopology(NamedTuple):
    """The topology, or None if it cannot be read.

    `states`: the reasons for unusable nodes that another format can report; None for a topology file.
    """

    topology: ClusterTopology | None
    states: frozenset[str] | None = None


def load(args: Arguments, word: str, other: ClusterTopology | None, batches: list[Batch]) -> LoadedTopology:
    """The topology of a file. `other`: a topology to compare it with, whose pools sort the nodes."""
    if ours(word):  # other formats do not need to look at it
        return LoadedTopology(_own(OpenedFile(word, 0), batches))
    from bayplan.cli import topology_sources

    picked, read_batches = topology_sources.pick(args._replace(words=(word,), options={}))
    batches += read_batches
    if not picked:
        return LoadedTopology(None)
    file = picked[0].file  # only now is it known whether standard input is a topology file
    if not picked[0].formats and file.documents and native.sniff(file.documents[0].data):
        return LoadedTopology(_own(file, batches))
    return LoadedTopology(_foreign(picked[0], other, batches), topology_sources.states(picked))


_OURS = re.compile(r"""^[ \t]*(?:\{[ \t]*)?["']?apiVersion["']?:[ \t]*["']?bayplan\.dev/""", re.MULTILINE).search


def ours(path: str) -> bool:
    """Whether a file begins like one of bayplan. False for standard input, which is not read yet."""
    try:
        return path != "-" and _OURS(OpenedFile(path, 0).head) is not None
    except UnreadableError:
        return False


def _own(file: OpenedFile, batches: list[Batch]) -> ClusterTopology | None:
    """Reads a topology file, with the rules for bayplan's own formats."""
    try:
        text = file.text
    except UnreadableError as problem:
        batches.append(file.batch(problem.diagnostics))
        return None
    read = document.read(file.name, text.encode("utf-8", "surrogatepass"), "topology")
    batch = Batch(read.diagnostics, {"topology": document.Document(file.name, text, 0, None)})
    one, read_batches = inputs.only_topology(read.value or (), batch)
    batches += read_batches
    if one is None:
        return None
    outcome, origins = pipeline.check_topology(one)
    batches.append(Batch(outcome.diagnostics, {"topology": one}, origins))
    return outcome.value


def _foreign(picked: Picked, other: ClusterTopology | None, batches: list[Batch]) -> ClusterTopology | None:
    """Reads another format, with Kubernetes node names instead of Slurm names if the other topology has them."""
    from bayplan.cli import topology_merging
    from bayplan.model.formats import ReadOptions
    from bayplan.topologies.unit_names import slurm_names

    pools = other.pools if other else ()
    frames = tuple(pool._replace(domains=(), unusable={}) for pool in pools)
    request = ReadOptions(frames=frames, fixed_levels=True)
    merged = topology_merging.together((picked,), request, batches)
    names = slurm_names(other) if other else {}
    if merged is None or not names:
        return merged and merged.topology
    return merged.topology._replace(pools=tuple(pool.renamed(names) for pool in merged.topology.pools))


def level_of(topology: ClusterTopology, word: str) -> str:
    """The level that --level names. `node` is the level `host`, unless a pool has a level of that name."""
    own = {level.name for pool in topology.pools for level in pool.levels}
    return HOST_LEVEL if word == "node" and word not in own else word


def unknown_level(topology: ClusterTopology, level: str) -> tuple[Diagnostic, ...]:
    """A920: no pool has the level of --level."""
    names = dict.fromkeys([*(each.name for pool in topology.pools for each in pool.levels), HOST_LEVEL])
    if not level or level in names:
        return ()
    message, hint = f'no pool of "{topology.name}" has a level "{level}"', suggest(level, names, "levels")
    return (error("A920", ("argument", "--level"), message, hint=hint),)
