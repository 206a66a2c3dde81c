"""Which nodes of a pool a pod template selects, by its nodeSelector and its required node affinity.

The topology knows the labels of levels, the names of nodes and the labels in `node.nodeSelector` of a pool. For other
labels it cannot be decided whether a node has them. Operators are those of Kubernetes 1.37,
staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube.objects import get, items, mapping, text
from bayplan.model.topology import HOSTNAME_LABEL, Pool
from bayplan.planning.fit.problem import usable

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
NODE_NAME = "metadata.name"
Field = tuple[str | int, ...]


EVERY_NODE = {"kubernetes.io/os": "linux"}
"""Labels that all nodes have unless their pool has another value."""

ARCHITECTURE = "kubernetes.io/arch"


class Requirement(NamedTuple):
    """A label that nodes must have, and its place in the pod's spec."""

    key: str
    operator: str
    values: tuple[str, ...]
    field: Field

    def __str__(self) -> str:
        """`kind=cpu`, or `kind In cpu, gpu`."""
        listed = ", ".join(self.values)
        return f"{self.key}={listed}" if self.operator == "In" and len(self.values) == 1 else self._long(listed)

    @property
    def particular(self) -> bool:
        """Whether only certain nodes can have what it requires, such as those of one pool."""
        return self.operator not in ("NotIn", "DoesNotExist") and self.key != ARCHITECTURE

    def _long(self, listed: str) -> str:
        return f"{self.key} {self.operator} {listed}".rstrip()

    def holds(self, labels: Mapping[str, str]) -> bool | None:
        """Whether a node with these labels satisfies it; None if the labels do not decide."""
        if self.key not in labels:
            return None
        value = labels[self.key]
        if self.operator in ("In", "NotIn"):
            return (value in self.values) == (self.operator == "In")
        if self.operator in ("Exists", "DoesNotExist"):
            return self.operator == "Exists"
        try:
            return int(value) > int(self.values[0]) if self.operator == "Gt" else int(value) < int(self.values[0])
        except (ValueError, IndexError):
            return False


class Selection(NamedTuple):
    """How many nodes of a pool a template selects and excludes; the labels of the others do not decide.

    `by`: a requirement that excludes nodes or, if none does, one that is undecided.
    """

    selected: int
    excluded: int
    undecided: int
    by: Requirement | None

    @property
    def none(self) -> bool:
        """Whether the template excludes every node."""
        return bool(self.excluded) and not self.selected and not self.undecided


def selection(spec: Mapping[str, Any], pool: Pool) -> Selection:
    """The nodes of a pool that a pod's spec selects."""
    selector, terms = tuple(_selector(spec)), _terms(spec)
    by_name = any(each.key in (HOSTNAME_LABEL, NODE_NAME) for each in (*selector, *(one for t in terms for one in t)))
    counts, by = {True: 0, False: 0, None: 0}, dict[bool | None, Requirement]()
    for labels, number in _nodes(pool, by_name):
        verdict, reason = _verdict(selector, terms, labels)
        counts[verdict] += number
        if reason:
            by.setdefault(verdict, reason)
    return Selection(counts[True], counts[False], counts[None], by.get(False) or by.get(None))


def _nodes(pool: Pool, by_name: bool) -> Iterator[tuple[Mapping[str, str], int]]:
    """The labels of usable nodes, and how many nodes have them. A pool without a list of nodes counts as one."""
    own = {**EVERY_NODE, **pool.node.node_selector}
    if not pool.domains:
        yield own, 1
    for path, nodes in usable(pool).items():
        labels = {**own, **{level.label: value for level, value in zip(pool.levels, path, strict=False)}}
        if by_name:
            yield from (({**labels, HOSTNAME_LABEL: node, NODE_NAME: node}, 1) for node in nodes)
        elif nodes:
            yield labels, len(nodes)


def _verdict(
    selector: Sequence[Requirement], terms: Sequence[Sequence[Requirement]], labels: Mapping[str, str]
) -> tuple[bool | None, Requirement | None]:
    """Whether the template selects a node, and the requirement that excludes it or that the labels do not decide."""
    verdict, reason = _every(selector, labels)
    if verdict is False or not terms:
        return verdict, reason
    alternatives = [_every(term, labels) for term in terms]
    best = next((each for word in (True, None, False) for each in alternatives if each[0] is word), (True, None))
    return (verdict, reason) if best[0] is True else best


def _every(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> tuple[bool | None, Requirement | None]:
    held = [(each.holds(labels), each) for each in requirements]
    wrong = next((each for word, each in held if word is False), None)
    if wrong:
        return False, wrong
    unknown = next((each for word, each in held if word is None), None)
    return (None, unknown) if unknown else (True, None)


def _selector(spec: Mapping[str, Any]) -> Iterator[Requirement]:
    for key, value in mapping(spec, "nodeSelector").items():
        yield Requirement(str(key), "In", (str(value),), ("nodeSelector", key))


def _terms(spec: Mapping[str, Any]) -> list[tuple[Requirement, ...]]:
    """The alternatives of the affinity. A term without requirements selects no node."""
    terms = []
    for number, term in enumerate(items(spec, *TERMS)):
        found = []
        for kind in ("matchExpressions", "matchFields"):
            for index, each in enumerate(items(term, kind)):
                values = tuple(str(value) for value in items(each, "values"))
                field = (*TERMS, number, kind, index)
                found.append(Requirement(text(each, "key"), text(each, "operator"), values, field))
        if found:
            terms.append(tuple(found))
    return terms


def affine(spec: Mapping[str, Any]) -> bool:
    """Whether the pods require other pods beside them, or apart from them."""
    kinds = ("podAffinity", "podAntiAffinity")
    return any(get(spec, "affinity", kind, REQUIRED) for kind in kinds)
