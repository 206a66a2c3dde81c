"""Labels that pods want of their nodes, against the labels that the topology's nodes have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.kube.safe import get, items, mapping, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.jobsets import exclusive
from bayplan.linting.world import World
from bayplan.words import did_you_mean, listing

WELL_KNOWN = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname")
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
Known = Mapping[str, frozenset[str] | None]


def check(world: World) -> Iterator[Diagnostic]:
    """M712. Only levels are judged: of other labels the topology does not know every node's value."""
    known = world.labels()
    if not any(pool.domains for pool in world.topology.pools):
        return
    seen: set[Route] = set()
    for template in world.templates:
        yield from _selected(template, known)
        yield from _affinity(template, known)
        for route, label in _keys(template):
            if route not in seen and label not in known and label not in WELL_KNOWN:
                seen.add(route)
                yield _unknown(route, label, known)


def _unknown(route: Route, label: str, known: Known) -> Diagnostic:
    near = did_you_mean(label, known)
    message = f'"{label}" is the label of no level of the topology'
    if near:
        return warning("M712", route, message, hint=near)
    return info("M712", route, message, hint="nodes without the label belong to no domain: check that yours carry it")


def _selected(template: PodTemplate, known: Known) -> Iterator[Diagnostic]:
    for label, value in mapping(template.spec, "nodeSelector").items():
        values = known.get(label)
        if isinstance(value, str) and values is not None and value not in values:
            yield _nowhere((*template.spec_route, "nodeSelector", label), label, [value], known)


def _affinity(template: PodTemplate, known: Known) -> Iterator[Diagnostic]:
    """Terms are alternatives, so all must be impossible."""
    path = ("affinity", "nodeAffinity", AFFINITY, "nodeSelectorTerms")
    terms = items(template.spec, *path)
    wrong = [_impossible(term, known) for term in terms]
    for index, found in enumerate(wrong if all(wrong) else ()):
        for number, values in found[:1]:
            label = text(terms[index], "matchExpressions", number, "key")
            route = (*template.spec_route, *path, index, "matchExpressions", number, "values")
            yield _nowhere(route, label, values, known)


def _impossible(term: object, known: Known) -> list[tuple[int, Sequence[str]]]:
    """The expressions of a term that no node meets."""
    found: list[tuple[int, Sequence[str]]] = []
    for number, each in enumerate(items(term, "matchExpressions")):
        there, values = known.get(text(each, "key")), [str(value) for value in items(each, "values")]
        if get(each, "operator") == "In" and there is not None and values and not there.intersection(values):
            found.append((number, values))
    return found


def _nowhere(route: Route, label: str, values: Sequence[str], known: Known) -> Diagnostic:
    near = did_you_mean(values[0], known[label] or ())
    message = f'no node of the topology has {listing(values, most=3)} as its "{label}"'
    if near:
        return error("M712", route, message, hint=near)
    return warning("M712", route, message, hint="unless there are other nodes, none can take the pods")


def _keys(template: PodTemplate) -> Iterator[tuple[Route, str]]:
    """Labels whose values make domains: of affinities that must hold, of spread, of exclusive placement."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for index, each in enumerate(items(template.spec, "affinity", kind, AFFINITY)):
            if text(each, "topologyKey"):
                route = (*template.spec_route, "affinity", kind, AFFINITY, index, "topologyKey")
                yield route, text(each, "topologyKey")
    for index, each in enumerate(items(template.spec, "topologySpreadConstraints")):
        if text(each, "topologyKey") and get(each, "whenUnsatisfiable") != "ScheduleAnyway":
            yield (*template.spec_route, "topologySpreadConstraints", index, "topologyKey"), text(each, "topologyKey")
    yield from exclusive(template)
