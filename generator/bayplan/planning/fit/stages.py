"""Which gangs run together: those that no chain of `dependsOn` puts one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.model.plan import GangPlan

MOST = 64
"""So many different sets at most; a stranger workflow is proven as if everything ran at once."""


def stages(gangs: tuple[GangPlan, ...]) -> tuple[tuple[GangPlan, ...], ...]:
    """The largest sets of gangs that may run at the same time, in file order; () when there are more than `MOST`."""
    before = _ancestors(gangs)
    after: dict[str, list[str]] = {}
    for name, ancestors in before.items():
        for ancestor in ancestors:
            after.setdefault(ancestor, []).append(name)
    alike: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for gang in gangs:
        alike.setdefault((before[gang.name], frozenset(after.get(gang.name, ()))), []).append(gang.name)
    classes = tuple(tuple(names) for names in alike.values())
    found: list[frozenset[str]] = []
    for stage in _largest((), classes, (), before):
        found.append(stage)
        if len(found) > MOST:
            return ()
    return tuple(tuple(gang for gang in gangs if gang.name in stage) for stage in found)


def _ancestors(gangs: tuple[GangPlan, ...]) -> dict[str, frozenset[str]]:
    """Gang -> all gangs that must complete before it."""
    after = {gang.name: gang.after for gang in gangs}
    known: dict[str, frozenset[str]] = {}

    def walk(name: str, seen: tuple[str, ...]) -> frozenset[str]:
        if name not in known:
            direct = [each for each in after.get(name, ()) if each not in seen]
            known[name] = frozenset(direct).union(*(walk(each, (*seen, name)) for each in direct))
        return known[name]

    return {gang.name: walk(gang.name, ()) for gang in gangs}


Class = tuple[str, ...]


def _largest(
    chosen: tuple[Class, ...], open_: tuple[Class, ...], done: tuple[Class, ...], before: dict[str, frozenset[str]]
) -> Iterator[frozenset[str]]:
    """Bron and Kerbosch's walk over the maximal sets of classes that nothing orders."""
    if not open_ and not done:
        yield frozenset(name for names in chosen for name in names)
    while open_:
        first, open_ = open_[0], open_[1:]
        yield from _largest((*chosen, first), _free(first, open_, before), _free(first, done, before), before)
        done = (*done, first)


def _free(of: Class, among: Iterable[Class], before: dict[str, frozenset[str]]) -> tuple[Class, ...]:
    return tuple(each for each in among if of[0] not in before[each[0]] and each[0] not in before[of[0]])
