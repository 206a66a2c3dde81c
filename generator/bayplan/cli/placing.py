"""The options of a command -> the request to place workloads."""

from __future__ import annotations

from typing import NamedTuple

from bayplan import pipeline
from bayplan.cli import inputs, options
from bayplan.cli.options import Arguments
from bayplan.model.augment import AugmentRequest
from bayplan.report import Batch
from bayplan.text.document import Document


class Placing(NamedTuple):
    """`request`: without objects yet. None: an option is invalid, or one of its files.

    `documents`: subject -> the topology and the policy, if they could be read.
    """

    request: AugmentRequest | None
    documents: dict[str, Document]
    batches: tuple[Batch, ...]


def placing(args: Arguments, path: str) -> Placing:
    """The request with the topology and the policy of the options."""
    topology, about_topology = inputs.topology_of(path)
    policy, about_policy = inputs.policy_of(args)
    target, accept = options.target(args), options.accept(args, "A943")
    batches = (*about_topology, *about_policy, Batch((*target.diagnostics, *accept.diagnostics)))
    documents_read = (("topology", topology), ("policy", policy))
    documents = {subject: document for subject, document in documents_read if document is not None}
    unread = policy is None and args.has("policy")
    if unread or topology is None or target.value is None or accept.value is None:
        return Placing(None, documents, batches)
    checked = pipeline.check_topology(topology)[0].value if args.has("occupied") else None
    occupied, about_cluster = inputs.occupied(args, checked)
    request = AugmentRequest(
        objects=(),
        topology=topology,
        policy=policy,
        scheduler=args.value("scheduler"),
        namespace=args.value("namespace"),
        queue=args.value("queue"),
        target=target.value,
        accept=accept.value,
        hooks=args.has("include-hooks"),
        occupied=occupied,
    )
    return Placing(request, documents, (*batches, *about_cluster))
