"""The objects of a lint run, indexed by kind and name."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from bayplan.core.diagnostics import Diagnostic, Note, error, warning
from bayplan.kube.objects import flattened, get, group, identity, kind, mapping, name, named, namespace, text, title
from bayplan.kube.other_files import not_a_manifest
from bayplan.kube.templates import PodTemplate, templates_in
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology
from bayplan.text.document import Document

K = TypeVar("K")
V = TypeVar("V")


class LintContext(NamedTuple):
    """All objects of a run, the cluster and its versions. Without pools, the topology knows no nodes.

    `scheduler`: the one of the command line; empty: all.
    """

    objects: tuple[Object, ...]
    topology: ClusterTopology
    target: Target
    templates: tuple[PodTemplate, ...]
    kinds: Mapping[tuple[str, str], Sequence[Object]]  # API group and kind -> objects
    names: Mapping[tuple[str, str, str], Sequence[Object]]  # the same with the name
    channels: Mapping[str, Sequence[Object]]  # claim template -> ComputeDomains that make it
    members: Mapping[str, Sequence[PodTemplate]]  # PodGroup -> templates whose pods name it by KAI's annotation
    scheduler: str = ""

    def of(self, group: str, kind: str) -> Sequence[Object]:
        """The objects of a kind."""
        return self.kinds.get((group, kind), ())

    def among(self, kinds: Container[tuple[str, str]]) -> Sequence[Object]:
        """The objects of several kinds, in the given order."""
        found = [same for each, same in self.kinds.items() if each in kinds]
        if len(found) > 1:
            return [one for one in self.objects if (group(one), kind(one)) in kinds]
        return found[0] if found else ()

    def find(self, group: str, kind: str, name: str, where: str) -> list[Object]:
        """The objects of a name that may be in a namespace."""
        return list(in_namespace(self.names.get((group, kind, name), ()), where))

    def labels(self) -> Mapping[str, frozenset[str] | None]:
        """Label of a level -> its values on the nodes; None if a pool does not list its nodes."""
        values: dict[str, set[str]] = {HOSTNAME_LABEL: set()}
        open_labels: set[str] = set()
        for pool in self.topology.pools:
            for level in pool.levels:
                values.setdefault(level.label, set())
            if not pool.domains:
                open_labels |= {HOSTNAME_LABEL, *(level.label for level in pool.levels)}
            for domain in pool.domains:
                values[HOSTNAME_LABEL].update(domain.nodes)
                for level, value in zip(pool.levels, domain.path, strict=False):
                    values[level.label].add(value)
        return {label: None if label in open_labels else frozenset(present) for label, present in values.items()}


Rule = Callable[[LintContext], Iterator[Diagnostic]]
"""One family of checks."""


def lint_context(objects: Iterable[Object], topology: ClusterTopology, target: Target) -> LintContext:
    """The index of all objects."""
    every = tuple(objects)
    pods = templates_in(every)
    kinds = grouped(lambda one: (group(one), kind(one)), every)
    names: dict[tuple[str, str, str], list[Object]] = {}
    for (of_group, of_kind), same in kinds.items():
        for one in same:
            names.setdefault((of_group, of_kind, name(one)), []).append(one)
    domains = kinds.get(("resource.nvidia.com", "ComputeDomain"), ())
    return LintContext(
        every,
        topology,
        target,
        pods,
        kinds,
        names,
        grouped(lambda one: text(one.data, *CHANNEL), domains),
        grouped(lambda each: text(each.annotations, "pod-group-name"), pods),
    )


CHANNEL = ("spec", "channel", "resourceClaimTemplate", "name")
"""Where a ComputeDomain names the claim template that its controller makes."""


def grouped(key: Callable[[V], K], values: Iterable[V]) -> dict[K, list[V]]:
    """Key -> its values, in the given order."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def same_namespace(one: str, other: str) -> bool:
    """Whether two namespaces may be the same. An empty one may be any."""
    return not one or not other or one == other


def in_namespace(found: Iterable[Object], where: str) -> Iterator[Object]:
    """The objects that may be in a namespace."""
    return (each for each in found if same_namespace(namespace(each), where))


# Objects without kind, version or name, and duplicate objects.

NAMED_API_GROUPS = frozenset(
    {
        *("", "apps", "batch", "jobset.x-k8s.io", "leaderworkerset.x-k8s.io", "trainer.kubeflow.org", "kubeflow.org"),
        *("scheduling.run.ai", "kai.scheduler", "resource.nvidia.com", "resource.k8s.io", "kueue.x-k8s.io"),
        *("scheduling.volcano.sh", "batch.volcano.sh", "topology.volcano.sh", "scheduling.koordinator.sh"),
        *("scheduling.sigs.k8s.io", "scheduling.k8s.io", "ray.io", "grove.io"),
    }
)
"""API groups of objects that need a name. Other files, such as a Kustomization, only look like objects."""


class Collected(NamedTuple):
    """The objects of some documents, and the diagnostics of documents that are not objects."""

    objects: tuple[Object, ...]
    diagnostics: tuple[Diagnostic, ...]


def collect(documents: Sequence[Document]) -> Collected:
    """The objects of the documents, with Lists replaced by their items, and M702 for other documents.

    Document n has the route `("manifest:n",)`.
    """
    objects: list[Object] = []
    diagnostics: list[Diagnostic] = []
    for number, document in enumerate(documents):
        for each in flattened(Object((f"manifest:{number}",), document.data)):
            diagnostic = not_an_object(each, document)
            if diagnostic:
                diagnostics.append(diagnostic)
            else:
                objects.append(each)
    return Collected(tuple(objects), tuple(diagnostics))


def not_an_object(one: Object, document: Document) -> Diagnostic | None:
    """M702 if an object of the document is not a Kubernetes object."""
    if other := not_a_manifest(document if one.data is document.data else document._replace(data=one.data)):
        message = f"this is {other.title}, not a manifest; bayplan skips it"
        return warning("M702", one.route, message, hint=other.hint)
    if get(one.data, "apiVersion") is None and get(one.data, "kind") is None:
        contents = "a mapping without `apiVersion` and `kind`" if mapping(one.data) else f"a {_shape(one.data)}"
        return warning("M702", one.route, f"this is not a Kubernetes object but {contents}; bayplan skips it")
    return None


def _shape(data: object) -> str:
    if isinstance(data, dict):
        return "mapping without keys"
    return "list" if isinstance(data, list) else "string" if isinstance(data, str) else "plain value"


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M703, M704: incomplete and duplicate objects."""
    for one in context.objects:
        yield from _incomplete(one)
    keys = grouped(lambda one: identity(one.data), filter(name, context.objects))
    for (_, _, where, _), same in keys.items():
        for other in same[1:]:
            place = f' in namespace "{where}"' if where else ""
            note = Note("the first is here", named(same[0]))
            hint = "rename or remove one: the second replaces the first"
            yield warning("M704", named(other), f"duplicate {title(other)}{place}", hint=hint, notes=(note,))


def _incomplete(one: Object) -> Iterator[Diagnostic]:
    """M703: objects that no API server accepts."""
    if not text(one.data, "apiVersion"):
        older = get(one.data, "version") is not None
        hint = "write `apiVersion:` instead of `version:`" if older else "add `apiVersion:`"
        yield error("M703", one.route, f"this {kind(one) or 'object'} has no `apiVersion`", hint=hint)
    elif not kind(one):
        message = f"this object of {text(one.data, 'apiVersion')} has no `kind`"
        yield error("M703", one.route, message, hint="add `kind:`")
    elif (
        group(one) in NAMED_API_GROUPS
        and kind(one) != "List"
        and not (name(one) or text(one.data, "metadata", "generateName"))
    ):
        stated = get(one.data, "metadata", "name")
        why = "has a name that is not a string" if stated is not None else "has no `metadata.name`"
        hint = "put the name in quotes" if stated is not None else "add a `name` or a `generateName`"
        yield error("M703", one.route if stated is None else named(one), f"this {kind(one)} {why}", hint=hint)
