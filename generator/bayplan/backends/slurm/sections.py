"""The parts of a job: equal nodes, and the pods that run on them in the order of their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby

from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Pods, Unit


class Leaf(NamedTuple):
    """One podSet instance and the units above it, the gang first."""

    pods: Pods
    path: tuple[Unit, ...]


class Branch(NamedTuple):
    """Instances of one podSet in a section: tasks number `start` and on of every period."""

    start: int
    leaves: tuple[Leaf, ...]

    @property
    def first(self) -> Pods:
        """The first instance; the others differ in names and ranks."""
        return self.leaves[0].pods


class Step(NamedTuple):
    """One srun: instances whose tasks follow each other on nodes of one section, from node `base` on."""

    section: int
    base: int
    nodes: int
    leaves: tuple[Leaf, ...]
    lead: bool = False  # its end is the gang's

    @property
    def first(self) -> Pods:
        """The first instance."""
        return self.leaves[0].pods

    @property
    def repeat(self) -> int:
        """After how many instances the podSets come again, with the same numbers of pods."""
        pattern = [(leaf.pods.route, leaf.pods.replicas) for leaf in self.leaves]
        count = len(pattern)
        lengths = (length for length in range(1, count + 1) if count % length == 0)
        return next(length for length in lengths if pattern == pattern[:length] * (count // length))

    @property
    def period(self) -> int:
        """How many tasks these are."""
        return sum(leaf.pods.replicas for leaf in self.leaves[: self.repeat])

    @property
    def branches(self) -> tuple[Branch, ...]:
        """What the tasks of one period run, in their order."""
        starts, repeat = starts_of(self.leaves), self.repeat
        return tuple(Branch(starts[number], self.leaves[number::repeat]) for number in range(repeat))


def starts_of(leaves: tuple[Leaf, ...]) -> tuple[int, ...]:
    """The first task of each instance."""
    return (0, *accumulate(leaf.pods.replicas for leaf in leaves))[:-1]


class Section(NamedTuple):
    """Equal nodes of one job: a part between `#SBATCH hetjob` lines."""

    leaves: tuple[Leaf, ...]
    per_node: int
    segment: int = 0  # nodes
    consolidate: bool = False
    spread: bool = False
    switches: int = 0
    channels: bool = False  # an IMEX channel for each segment

    @property
    def first(self) -> Pods:
        """The first instance: all ask for the same of a node, and for the same image and files."""
        return self.leaves[0].pods

    @property
    def nodes(self) -> int:
        """All nodes of the section."""
        return sum(leaf.pods.replicas for leaf in self.leaves) // self.per_node


class Loss(NamedTuple):
    """A placement that the job does not keep, or keeps by something: the feature that takes, and the unit."""

    feature: str
    unit: Unit
    preferred: bool = False


class Job(NamedTuple):
    """One gang."""

    gang: GangPlan
    sections: tuple[Section, ...]
    losses: tuple[Loss, ...] = ()  # each once for a unit of the file
    uses: tuple[Loss, ...] = ()  # what it needs of the version to keep the others

    @property
    def steps(self) -> tuple[Step, ...]:
        """One for each section; more where the gang's lead is only a part of one."""
        return tuple(step for number, section in enumerate(self.sections) for step in _steps(self, number, section))


def _steps(job: Job, number: int, section: Section) -> Iterator[Step]:
    base, lead = 0, job.gang.gang.lead
    for led, leaves in groupby(section.leaves, key=lambda leaf: bool(lead) and leaf.pods.spec.name == lead):
        mine = tuple(leaves)
        nodes = sum(leaf.pods.replicas for leaf in mine) // section.per_node
        yield Step(number, base, nodes, mine, led)
        base += nodes
