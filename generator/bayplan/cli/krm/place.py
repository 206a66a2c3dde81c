"""PlaceWorkloads: changes only workloads that annotations or a policy select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.augment import augment
from bayplan.cli import inputs
from bayplan.cli.krm.job import Answer, Job, wire, without_wire
from bayplan.cli.placing import placing
from bayplan.clients import resource_list
from bayplan.clients.resource_list import Item, line
from bayplan.core.diagnostics import info
from bayplan.kube.objects import flattened, get, put, without_item
from bayplan.kube.objects import number as number_of
from bayplan.model.augment import Augmented
from bayplan.model.manifest import Object
from bayplan.report import Batch
from bayplan.text.document import Document


def run(job: Job) -> Answer:
    """Changed items, each with new objects before it, and all other items unchanged."""
    path, batches = inputs.needed_topology(job.args)
    if path is None:
        return Answer(None, list(batches))
    needed = placing(job.args, path)
    parsed = resource_list.parsed(job.items, lambda _: True)
    batches = (*batches, *needed.batches, Batch(parsed.diagnostics))
    if parsed.value is None or needed.request is None:
        return Answer(None, batches)
    documents = [Document("item", "", number, without_wire(each.data)) for number, each in enumerate(parsed.value)]
    objects = tuple(
        each
        for number, document in enumerate(documents)
        if not str(document.data.get("apiVersion", "")).startswith(
            "bayplan.dev/"
        )  # bayplan does not place its own files
        for each in flattened(Object((f"manifest:{number}",), document.data))
    )
    request = needed.request._replace(objects=objects, namespace="")  # kustomize has set the namespaces
    outcome, origins = augment(request)
    sources = {f"manifest:{number}": document for number, document in enumerate(documents)}
    none = outcome.value is not None and not outcome.value.plans
    message = "no workload requests a placement, so PlaceWorkloads changes nothing"
    unused = (info("A973", (), message),) if none and not outcome.diagnostics else ()
    reported = Batch((*outcome.diagnostics, *unused), {**sources, **needed.documents}, origins)
    items = None if outcome.value is None else _merged(parsed.value, outcome.value, block=job.keeps_results)
    return Answer(items, [*batches, reported])


def _merged(items: Sequence[Item], augmented: Augmented, *, block: bool) -> list[Item | str]:
    """The items in their order, with changes and new objects, and without removed ones. `block`: keep their style."""
    changed: dict[int, Any] = {}
    for change in augmented.changes:
        number, path = number_of(change.route), change.route[1:]
        whole = changed.get(number, items[number].data)
        changed[number] = put(whole, path, _with_wire(change.data, get(whole, *path)))
    added: dict[int, list[str]] = {}
    for new in augmented.added:
        added.setdefault(number_of(new.beside), []).append(line(new.data))
    for route in augmented.removed:
        if route[1:]:
            number = number_of(route)
            changed[number] = without_item(changed.get(number, items[number].data), route[1:])
    removed = {number_of(route) for route in augmented.removed if not route[1:]}
    merged: list[Item | str] = []
    for number, item in enumerate(items):
        own: Item | str = line(changed[number]) if number in changed else item
        own = resource_list.in_block_style(own, item) if block else own
        merged += [*added.get(number, ()), *([] if number in removed else [own])]
    return merged


def _with_wire(data: Mapping[str, Any], before: Any) -> Mapping[str, Any]:
    """The object with the annotations of kustomize and kpt."""
    travelling = wire(before)
    if not travelling:
        return data
    metadata = data["metadata"]
    annotations = {**travelling, **metadata.get("annotations", {})}
    return {**data, "metadata": {**metadata, "annotations": annotations}}
