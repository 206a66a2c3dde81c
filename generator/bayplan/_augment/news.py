"""The objects that go with a workload, against those that are there."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan._augment.cluster import Cluster
from bayplan.arrange import arrange, head
from bayplan.diagnostics import Diagnostic, Note, error
from bayplan.kube.kinds.parts import GANG_LABEL
from bayplan.kube.objects import identity
from bayplan.kube.safe import get, mapping, text
from bayplan.model.augment import Added, Augmented, Change, Roster
from bayplan.model.manifest import Manifest, Meta, Object


def news(roster: Roster, documents: Sequence[Manifest], cluster: Cluster) -> tuple[Augmented, list[Diagnostic]]:
    """The objects that are not there yet; those of ours that are there and differ become what they should be."""
    one = roster.placed
    where, labels = text(one.data, "metadata", "namespace"), mapping(one.data, "metadata", "labels")
    handed = Meta({key: str(value) for key, value in labels.items() if _passed_on(key)})
    changes, added, wrong = [], [], []
    for document in map(head, arrange(documents, where, handed)):
        there = cluster.objects.get(identity(document))
        if there is None:
            added.append(Added(document, one.route))
        elif get(there.data, "metadata", "labels", GANG_LABEL) is None:
            wrong.append(_taken(there, one))
        elif (whole := _kept(document, there)) != there.data:
            changes.append(Change(there.route, whole))
    return Augmented(tuple(changes), tuple(added)), wrong


def _kept(document: Manifest, there: Object) -> Manifest:
    """The object with the labels and annotations that others have put on the one that is there."""
    own = document["metadata"]
    kept = {key: {**mapping(there.data, "metadata", key), **own.get(key, {})} for key in ("labels", "annotations")}
    return {**document, "metadata": {**own, **{key: held for key, held in kept.items() if held}}}


def _passed_on(key: str) -> bool:
    """Labels by which charts and their users know what belongs together (Helm, "Standard Labels")."""
    return key.startswith("app.kubernetes.io/") or key == "helm.sh/chart"


def _taken(there: Object, one: Object) -> Diagnostic:
    """A951: somebody else's object has the name."""
    _, kind, _, name = identity(there.data)
    message = f'{kind} "{name}" is there already, and is not what the placement of "{identity(one.data)[3]}" needs'
    notes = (Note("the workload is here", (*one.route, "metadata", "name")),)
    return error("A951", (*there.route, "metadata", "name"), message, hint="rename or remove it", notes=notes)
