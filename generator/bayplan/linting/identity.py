"""Whether each object says what it is, and whether two are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.diagnostics import Diagnostic, Note, error, warning
from bayplan.kube.objects import flattened, identity
from bayplan.kube.safe import get, mapping, text
from bayplan.linting.world import World, group, grouped, kind, name, named, title
from bayplan.model.manifest import Object
from bayplan.text.document import Document
from bayplan.values import NamedTuple

OURS = "bayplan.dev/"

STORED = frozenset(
    {
        *("", "apps", "batch", "jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "trainer.kubeflow.org", "kubeflow.org"),
        *("scheduling.run.ai", "kai.scheduler", "resource.nvidia.com", "resource.k8s.io", "kueue.x-k8s.io"),
        *("scheduling.volcano.sh", "batch.volcano.sh", "topology.volcano.sh", "scheduling.koordinator.sh"),
        *("scheduling.sigs.k8s.io", "scheduling.k8s.io", "ray.io", "grove.io"),
    }
)
"""API groups of objects that need a name. Other files, such as a Kustomization, look like objects and are none."""


class Collected(NamedTuple):
    """The objects of some documents, and what is wrong with documents that hold none."""

    objects: tuple[Object, ...]
    diagnostics: tuple[Diagnostic, ...]


def collect(documents: Sequence[Document]) -> Collected:
    """Document n -> the object at `("manifest:n",)`; Lists -> their items. M702: it is no object."""
    objects: list[Object] = []
    wrong: list[Diagnostic] = []
    for number, document in enumerate(documents):
        for each in flattened(Object((f"manifest:{number}",), document.data)):
            found = foreign(each)
            if found:
                wrong.append(found)
            else:
                objects.append(each)
    return Collected(tuple(objects), tuple(wrong))


def foreign(one: Object) -> Diagnostic | None:
    """M702 for what is no Kubernetes object at all."""
    if text(one.data, "apiVersion").startswith(OURS):
        message = f"this is a {kind(one) or 'file'} of bayplan, not a manifest"
        command = {"Workflow": "check", "ClusterTopology": "topology check"}.get(kind(one))
        hint = f"`bayplan {command}` says whether it is sound" if command else ""
        return warning("M702", one.route, message, hint=hint)
    if get(one.data, "apiVersion") is None and get(one.data, "kind") is None:
        held = "a mapping without `apiVersion` and `kind`" if mapping(one.data) else f"a {_shape(one.data)}"
        return warning("M702", one.route, f"this is no Kubernetes object but {held}; it is left out")
    return None


def _shape(data: object) -> str:
    if isinstance(data, dict):
        return "mapping without keys"
    return "list" if isinstance(data, list) else "text" if isinstance(data, str) else "plain value"


def check(world: World) -> Iterator[Diagnostic]:
    """M703 and M704."""
    for one in world.objects:
        yield from _half(one)
    keys = grouped(lambda one: identity(one.data), filter(name, world.objects))
    for (_, _, where, _), same in keys.items():
        for other in same[1:]:
            place = f' in namespace "{where}"' if where else ""
            note = Note("the first is here", named(same[0]))
            hint = "the second replaces the first; rename or remove one"
            yield warning("M704", named(other), f"{title(other)} is there twice{place}", hint=hint, notes=(note,))


def _half(one: Object) -> Iterator[Diagnostic]:
    """An API server takes none of these."""
    if not text(one.data, "apiVersion"):
        hint = "`version:` is not it: write `apiVersion:`" if get(one.data, "version") is not None else ""
        yield error("M703", one.route, f"this {kind(one) or 'object'} has no `apiVersion`", hint=hint)
    elif not kind(one):
        yield error("M703", one.route, f"this object of {text(one.data, 'apiVersion')} has no `kind`")
    elif group(one) in STORED and kind(one) != "List" and not (name(one) or text(one.data, "metadata", "generateName")):
        given = get(one.data, "metadata", "name")
        why = "has a name that is no text" if given is not None else "has no `metadata.name`"
        hint = "put it in quotes" if given is not None else "an API server refuses it; add a name, or a `generateName`"
        yield error("M703", one.route if given is None else named(one), f"this {kind(one)} {why}", hint=hint)
