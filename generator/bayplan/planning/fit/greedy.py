"""First fit decreasing: a quick placement if counting takes too long. It may miss a placement that exists."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.values import NamedTuple
from bayplan.model.plan import Pods
from bayplan.planning.fit.problem import Part, Place, Problem
from bayplan.planning.fit.witness import Meter, Run, TooLongError

STEPS = 300_000
"""Looks at a node: about a second."""


class _Span(NamedTuple):
    """A domain as the range of its nodes' numbers."""

    depth: int
    first: int
    end: int
    below: tuple[_Span, ...]


class _Step(NamedTuple):
    node: int
    item: int
    gang: str
    pods: str
    number: int


def first_fit(problem: Problem) -> tuple[Run, ...] | None:
    """A placement, or None if first fit does not find one."""
    floor = _FirstFit(problem)
    try:
        placed = floor.fill(problem.root, floor.span)
    except TooLongError:
        return None
    return tuple(floor.runs()) if placed else None


class _FirstFit:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.meter = Meter(STEPS)
        self.names: list[tuple[int, str]] = []
        self.span = self.numbered(problem.space.root)
        self.free = [list(problem.nodes[pool]) for pool, _ in self.names]
        self.steps: list[_Step] = []
        self.taken: dict[tuple[tuple[str, ...], int], int] = {}  # family, first node of a domain -> instances there

    def numbered(self, place: Place) -> _Span:
        first = len(self.names)
        below = [self.numbered(child) for child in place.children]
        for pool, nodes in place.hosts:
            for name in nodes:
                number = len(self.names)
                self.names.append((pool, name))
                below.append(_Span(len(place.path) + 1, number, number + 1, ()))
        return _Span(len(place.path), first, len(self.names), tuple(below))

    def fill(self, part: Part, span: _Span) -> bool:
        """Put everything directly below a part into one domain: units first, then pods, the largest first."""
        parts = sorted(part.parts, key=lambda each: -self.size(each.item))
        pods = sorted(part.pods, key=lambda each: tuple(-ask for ask in self.problem.shapes[each[0]].asks))
        return all(self.unit(each, span) for each in parts) and all(self.pods(each, span) for each in pods)

    def size(self, item: int) -> int:
        """Pods of an item."""
        if item < len(self.problem.shapes):
            return 1
        content = self.problem.types[item - len(self.problem.shapes)].content
        return sum(count * self.size(each) for each, count in content)

    def unit(self, part: Part, span: _Span) -> bool:
        """The first domain that takes a unit."""
        kind = self.problem.types[part.item - len(self.problem.shapes)]
        for domain in _at(span, kind.depth):
            self.meter.spend(1)
            mark, apart = len(self.steps), (kind.family, self.around(domain, kind.apart))
            if kind.family and self.taken.get(apart):
                continue
            if self.fill(part, domain):
                self.taken[apart] = 1
                return True
            self.undo(mark)
        return False

    def around(self, span: _Span, depth: int | None) -> int:
        """The first node of the domain of that depth around another; -1 for no depth."""
        domains = [each for each in _at(self.span, depth) if each.first <= span.first < each.end]
        self.meter.spend(len(domains) and span.first)
        return domains[0].first if domains else -1

    def pods(self, loose: tuple[int, str, Pods], span: _Span) -> bool:
        item, gang, pods = loose
        shape, left = self.problem.shapes[item], pods.replicas
        for node in range(span.first, span.end):
            if not left:
                break
            self.meter.spend(1)
            if self.names[node][0] == shape.pool:
                most = min([left, *(f // a for f, a in zip(self.free[node], shape.asks, strict=True) if a)])
                left -= most
                self.put(_Step(node, item, gang, pods.name, most), -1)
        return not left

    def put(self, step: _Step, sign: int) -> None:
        if step.number:
            for i, amount in enumerate(self.problem.shapes[step.item].asks):
                self.free[step.node][i] += sign * amount * step.number
            if sign < 0:
                self.steps.append(step)

    def undo(self, mark: int) -> None:
        while len(self.steps) > mark:
            self.put(self.steps.pop(), 1)

    def runs(self) -> Iterator[Run]:
        """Steps of one podSet instance with the same count become one run."""
        grouped: dict[tuple[str, str, int, int], list[str]] = {}
        for step in self.steps:
            pool, name = self.names[step.node]
            grouped.setdefault((step.gang, step.pods, pool, step.number), []).append(name)
        for (gang, pods, pool, count), names in grouped.items():
            yield Run(gang, pods, self.problem.space.pools[pool].name, tuple(names), count)


def _at(span: _Span, depth: int | None) -> Iterator[_Span]:
    if span.depth == depth:
        yield span
    elif depth is not None and span.depth < depth:
        for below in span.below:
            yield from _at(below, depth)
