"""What a command asks of the engine that places workloads, out of its options."""

from __future__ import annotations

from bayplan.cli import options
from bayplan.cli.options import Given
from bayplan.core.diagnostics import Outcome
from bayplan.model.augment import AugmentRequest
from bayplan.text.document import Document


def request(given: Given, topology: Document | None, policy: Document | None) -> Outcome[AugmentRequest]:
    """The request, still without objects. None where an option is wrong, or a file that one names cannot be used."""
    target, accept = options.target(given), options.accept(given)
    wrong = (*target.diagnostics, *accept.diagnostics)
    unread = topology is None or (policy is None and given.on("policy"))
    if unread or topology is None or target.value is None or accept.value is None:
        return Outcome(None, wrong)
    made = AugmentRequest(
        objects=(),
        topology=topology,
        policy=policy,
        scheduler=given.one("scheduler"),
        namespace=given.one("namespace"),
        target=target.value,
        accept=accept.value,
        hooks=given.on("include-hooks"),
    )
    return Outcome(made, wrong)
