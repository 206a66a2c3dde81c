"""`bayplan topology diff`: what differs between two topologies, whatever they are written in."""

from __future__ import annotations

import re

from bayplan import document, pipeline
from bayplan.cli import inputs, output
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.cli.source_files import OpenedFile, UnreadableError
from bayplan.diagnostics import error
from bayplan.model.formats import Asked
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.report.batch import Batch
from bayplan.topologies import compare, native
from bayplan.values import NamedTuple


class Side(NamedTuple):
    """One of the two; `foreign`: made of another system's file, which says nothing of queues and versions.

    `states`: the reasons for which nodes are unusable that it can know; None where it is a topology file.
    """

    topology: ClusterTopology | None
    states: frozenset[str] | None = None


def run(given: Given) -> int:
    """Writes the difference; 1 where there is one."""
    batches = [Batch(output.wrong(given))]
    if given.words == ("-", "-"):
        message = "- is standard input, which can be read only once"
        return finish(given, [Batch((error("A922", ("argument", "-"), message),))])
    old = _side(given, given.words[0], (), batches)
    new = _side(given, given.words[1], old.topology.pools if old.topology else (), batches)
    if old.topology is None or new.topology is None:
        return finish(given, batches)
    found = _told(compare.compare(old.topology, new.topology), old, new)
    code = finish(given, batches, output.file_writer(given, [_text(given, found)]))
    return code or (0 if found.equal else 1)


def _text(given: Given, found: compare.Comparison) -> str:
    from bayplan.cli import show_difference

    if given.one("format", "text") == "json":
        return show_difference.as_json(found)
    return "".join(show_difference.as_text(found, *given.words))


def _side(given: Given, word: str, frames: tuple[Pool, ...], batches: list[Batch]) -> Side:
    """A topology file, else what a source says of the nodes, sorted into the pools of the other side."""
    if word != "-" and _claims(word):  # a topology file is not offered to every other format
        return Side(_native(OpenedFile(word, 0), batches))
    return _foreign(given._replace(words=(word,), options={}), frames, batches)


def _foreign(given: Given, frames: tuple[Pool, ...], batches: list[Batch]) -> Side:
    """What the file of another system says; of standard input it is only known now that it is one of ours."""
    from bayplan.cli import topology_sources
    from bayplan.topologies import merge

    picked, found = topology_sources.pick(given)
    batches += found
    if not picked:
        return Side(None)
    file = picked[0].file
    if not picked[0].formats and file.documents and native.sniff(file.documents[0].data):
        return Side(_native(file, batches))
    asked = Asked(frames=tuple(pool._replace(domains=(), unusable={}) for pool in frames))
    parts, told = topology_sources.gather(picked, asked)
    batches += told
    if not parts:
        return Side(None)
    made = merge.merge(parts)
    batches.append(file.batch(made.diagnostics))
    return Side(made.value.topology if made.value else None, topology_sources.states(picked))


_OURS = re.compile(r"""^\s*\{?\s*["']?apiVersion["']?:\s*["']?bayplan\.dev/""", re.MULTILINE).search


def _claims(path: str) -> bool:
    """Whether a file begins like one of ours."""
    try:
        return _OURS(OpenedFile(path, 0).head) is not None
    except UnreadableError:
        return False


def _native(file: OpenedFile, batches: list[Batch]) -> ClusterTopology | None:
    """Read again as ours: other formats may say what ours may not."""
    try:
        text = file.text
    except UnreadableError as problem:
        batches.append(file.batch(problem.found))
        return None
    read = document.read(file.name, text.encode("utf-8", "surrogatepass"), "topology")
    unread = document.Document(file.name, text, 0, None)
    batches.append(Batch(read.diagnostics, {"topology": unread}))
    one, found = inputs.only(read.value or ())
    batches += found
    if one is None:
        return None
    outcome, origins = pipeline.check_topology(one)
    batches.append(Batch(outcome.diagnostics, {"topology": one}, origins))
    return outcome.value


def _told(found: compare.Comparison, old: Side, new: Side) -> compare.Comparison:
    """Only what both sides speak of."""
    foreign = [side.states for side in (old, new) if side.states is not None]
    if not foreign:
        return found
    known = frozenset.intersection(*foreign) | {""}
    states = tuple(each for each in found.states if each.before in known and each.after in known)
    return found._replace(states=states, settings=())
