"""The order in which the objects of a workflow go: workloads first, then what they held on to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.arrange import CLUSTER_SCOPED, ORDER, head
from bayplan.cleanup import resource
from bayplan.kube.kinds.parts import GANG_LABEL
from bayplan.model.manifest import File, Item, Many


def delete_plan(documents: Iterable[Item]) -> tuple[str, ...]:
    """One kubectl line for each object, in reverse order of creation; and what undoes the scripts.

    A ComputeDomain's finalizer waits for the last pod that claims from it (NVIDIA DRA driver), so each line waits for
    the objects before it to be gone. Cluster-scoped objects stay: other workflows refer to them.
    """
    there = list(documents)
    own = [document for document in there if head(document)["kind"] not in CLUSTER_SCOPED]
    later = sorted(own, key=lambda document: -ORDER.index(head(document)["kind"]))
    undone = (line for each in there if isinstance(each, File) for line in each.undo)
    return tuple(dict.fromkeys((*undone, *(line for document in later for line in _lines(document)))))


def _lines(document: Item) -> Iterator[str]:
    own = head(document)
    metadata = own["metadata"]
    what = f"-l {GANG_LABEL}={metadata['labels'][GANG_LABEL]}" if isinstance(document, Many) else metadata["name"]
    yield f"kubectl delete -n {metadata['namespace']} {resource(own)} {what} --ignore-not-found --wait"
