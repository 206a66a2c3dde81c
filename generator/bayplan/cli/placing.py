"""What a command asks of the engine that places workloads, out of its options."""

from __future__ import annotations

from bayplan.cli import inputs, options
from bayplan.cli.options import Arguments
from bayplan.core.values import NamedTuple
from bayplan.model.augment import AugmentRequest
from bayplan.report import Batch
from bayplan.text.document import Document


class Placing(NamedTuple):
    """`request`: still without objects; None where an option is wrong, or a file that one names cannot be used.

    `documents`: subject -> the topology and the policy, as far as they could be read.
    """

    request: AugmentRequest | None
    documents: dict[str, Document]
    batches: tuple[Batch, ...]


def placing(args: Arguments, path: str) -> Placing:
    """The request with the topology in the file and the policy that the options name."""
    topology, about_topology = inputs.topology_of(path)
    policy, about_policy = inputs.policy_of(args)
    target, accept = options.target(args), options.accept(args)
    batches = (*about_topology, *about_policy, Batch((*target.diagnostics, *accept.diagnostics)))
    documents_read = (("topology", topology), ("policy", policy))
    documents = {subject: document for subject, document in documents_read if document is not None}
    unread = policy is None and args.has("policy")
    if unread or topology is None or target.value is None or accept.value is None:
        return Placing(None, documents, batches)
    request = AugmentRequest(
        objects=(),
        topology=topology,
        policy=policy,
        scheduler=args.value("scheduler"),
        namespace=args.value("namespace"),
        target=target.value,
        accept=accept.value,
        hooks=args.has("include-hooks"),
    )
    return Placing(request, documents, batches)
