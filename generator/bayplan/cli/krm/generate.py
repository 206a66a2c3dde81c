"""A Workflow as the function's configuration: its manifests join the items."""

from __future__ import annotations

from typing import Any

from bayplan.cli.krm.expand import manifests
from bayplan.cli.krm.inputs import Answer, Job, without_wire
from bayplan.clients import resource_list
from bayplan.clients.resource_list import Item
from bayplan.report import Batch
from bayplan.text.document import Document

PLUGIN_KEYS = ("argsOneLiner", "argsFromFile")
"""Keys by which the configuration of an older plugin names its arguments."""


def run(job: Job) -> Answer:
    """kustomize shows a generator its own configuration as the only item; that one is left out."""
    known = resource_list.known(job.items, lambda text: "kind: Workflow" in text)
    if known.value is None:
        return Answer(None, [Batch(known.diagnostics)])
    own = without_wire({key: value for key, value in job.config.items() if key not in PLUGIN_KEYS})
    made, batches = manifests(job, [Document("Workflow", "", 0, own)])
    if made is None:
        return Answer(None, batches)
    return Answer([*(each for each in known.value if not _is_copy(each, job.config)), *made], batches)


def _is_copy(item: Item, config: Any) -> bool:
    """The same object, but for what annotations travel with it."""
    return isinstance(item.data, dict) and without_wire(item.data) == without_wire(config)
