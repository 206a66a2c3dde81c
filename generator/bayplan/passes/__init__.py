"""The passes of the pipeline by stage, and here the values between the stages. Each pass says when it applies."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from bayplan.core.diagnostics import Diagnostic, Outcome, Route
from bayplan.model.backend import Backend
from bayplan.model.manifest import Item, Shape
from bayplan.model.plan import Occupant, Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.planning.fit import Fits
from bayplan.planning.selection import Given
from bayplan.text.document import Document

Origins = Mapping[str, Mapping[Route, Route]]
"""Subject -> route of the model -> route of the source."""

Found = tuple[Diagnostic, ...]
Documents = tuple[Item, ...]
CheckedTopology = tuple[Outcome[ClusterTopology], Origins]
"""A topology file after reading and checking it."""


class Request(NamedTuple):
    """One workflow to compile on one topology, with the options of the command line."""

    workflow: Document
    topology: Document
    scheduler: str = ""
    namespace: str = ""
    given: Given = Given()
    target: Mapping[str, str] = {}
    gangs: tuple[str, ...] = ()
    cluster_objects: bool = False
    accept: frozenset[str] = frozenset()
    workflow_format: str = ""
    beside: Mapping[str, Document] = {}  # subject -> further documents for the workflow's format
    render: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None  # renders templates in another process
    judged: CheckedTopology | None = None  # the result of `check_topology`, if it is known already
    prove: bool = True  # whether to prove the fit, on which no manifest depends
    occupied: Mapping[str, tuple[Occupant, ...]] = {}  # what runs in the cluster


class Checked(NamedTuple):
    """A workflow and a topology without errors, by themselves and together."""

    workflow: Workflow
    topology: ClusterTopology
    backend: Backend
    target: Target


class Planned(NamedTuple):
    """A plan that fits, and its workloads."""

    plan: Plan
    shape: Shape
    backend: Backend
    target: Target
    accepted: tuple[str, ...] = ()  # codes of gaps that the user accepted
    fits: Fits | None = None  # the proof; None if the user accepted that there is none


class Compiled(NamedTuple):
    """The result: the plan, and the documents in the order to apply them."""

    planned: Planned
    documents: Documents


class Draft(NamedTuple):
    """A plan on its way to the proof: as the workflow requests it, and as it will be.

    `shape`: its workloads; None before they are known, and if no kind can have them.
    """

    request: Request
    checked: Checked
    asked: Plan
    plan: Plan
    shape: Shape | None = None
    proof: Outcome[Fits] = Outcome(None)
    accepted: tuple[str, ...] = ()
    findings: Found = ()

    def saying(self, *findings: Diagnostic) -> "Draft":
        """The draft with more findings."""
        return self._replace(findings=(*self.findings, *findings))


A = TypeVar("A")
B = TypeVar("B")


def then(outcome: Outcome[A], step: Callable[[A], Outcome[B]]) -> Outcome[B]:
    """The next step on the value, if there is one, with the diagnostics of both."""
    if outcome.value is None:
        return Outcome(None, outcome.diagnostics)
    following = step(outcome.value)
    return Outcome(following.value, (*outcome.diagnostics, *following.diagnostics))
