"""`bayplan topology diff`: the differences between two topologies of any format."""

from __future__ import annotations

from bayplan.cli import any_topology, destination, files
from bayplan.cli.any_topology import LoadedTopology
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.report import Batch
from bayplan.topologies import comparing


def run(args: Arguments) -> int:
    """Writes the differences. Exit code 1 if there are any."""
    batches = [Batch(destination.option_errors(args))]
    twice = files.stdin_twice(args.words)
    if twice:
        return finish(args, [Batch(twice)])
    old, new = _both(args, batches)
    if old.topology is None or new.topology is None:
        return finish(args, batches)
    comparison = _known_to_both(comparing.compare_with_names(old.topology, new.topology), old, new)
    code = finish(args, batches, destination.file_writer(args, [_text(args, comparison)]))
    return code or (0 if comparison.equal else 1)


def _both(args: Arguments, batches: list[Batch]) -> tuple[LoadedTopology, LoadedTopology]:
    """Loads the native file first: its pools sort the nodes of the other."""
    left, right = args.words
    if any_topology.ours(right):
        new = any_topology.load(args, right, None, batches)
        return any_topology.load(args, left, new.topology, batches), new
    old = any_topology.load(args, left, None, batches)
    return old, any_topology.load(args, right, old.topology, batches)


def _text(args: Arguments, comparison: comparing.Comparison) -> str:
    from bayplan.cli import show_difference

    if args.value("format", "text") == "json":
        return show_difference.as_json(comparison)
    return "".join(show_difference.as_text(comparison, *args.words))


def _known_to_both(comparison: comparing.Comparison, old: LoadedTopology, new: LoadedTopology) -> comparing.Comparison:
    """Only the states that both sides can report."""
    foreign = [side.states for side in (old, new) if side.states is not None]
    if not foreign:
        return comparison
    states_of_both = frozenset.intersection(*foreign) | {""}
    states = tuple(each for each in comparison.states if each.before in states_of_both and each.after in states_of_both)
    return comparison._replace(states=states, settings=())
