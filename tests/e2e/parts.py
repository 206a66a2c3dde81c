"""Why KAI did not place what fits: because it finds no domain, or because of the order in which it fills them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.kai.pod_group import POD_GROUP
from bayplan.model.plan import GangPlan, Unit, all_pods, walk
from e2e.compare import by_pod_set, missing
from e2e.kai import replay
from e2e.pods import Member, members
from e2e.releases import Release
from e2e.scene import Scene, Stage
from e2e.snapshot import snapshot

TRIED = "After allocated Task"
TALKATIVE = 5
"""The verbosity at which the tool tells of pods that it puts on a node for a try (KAI framework/statement.go)."""

Documents = Sequence[Mapping[str, Any]]


def by_order(made: Scene, stage: Stage, release: Release) -> bool:
    """Whether KAI misses the stage only because it never takes back a sibling that it has placed.

    It does if each gang is placed when alone. Else the smallest unit that is not placed when alone, and whose parts
    are, must have several parts, some of which KAI has put on nodes before it gave up: then it has found a domain for
    the unit and packed it badly. A unit for which it tried no node was refused by its estimate, which is another thing.
    """
    gangs = (gang for gang in stage.gangs if gang.name not in stage.blind)
    return all(_packed_badly(made, gang, gang.root, release) is not False for gang in gangs)


def _packed_badly(made: Scene, gang: GangPlan, unit: Unit, release: Release) -> bool | None:
    """None: the unit is placed when alone."""
    documents, chosen = _alone(made, gang, unit)
    done = replay(release, snapshot(made.plan.topology, documents, chosen, release), TALKATIVE)
    if not list(missing(gang.name, unit, by_pod_set(chosen, done.bindings))):
        return None
    parts = [member for units in unit.groups for member in units.members]
    inner = [_packed_badly(made, gang, part, release) for part in parts]
    if any(each is not None for each in inner):
        return all(each is not False for each in inner)
    return len(parts) + len(unit.pods) > 1 and TRIED in done.log


def _alone(made: Scene, gang: GangPlan, unit: Unit) -> tuple[Documents, list[Member]]:
    """The manifests with nothing of the gang but this unit, in the groups around it."""
    names = {pods.name for pods in all_pods(unit)}
    chosen = [each for each in members(made.documents) if each.gang == gang.name and each.pods in names]
    group = chosen[0].body["metadata"]["annotations"][POD_GROUP]
    kept = {name for each in walk(unit) for name in (each.name, *(pods.name for pods in each.pods)) if name}
    documents = [
        _cut(each, kept) if each["kind"] == "PodGroup" and each["metadata"]["name"] == group and unit.name else each
        for each in made.documents
    ]
    return documents, chosen


def _cut(group: Mapping[str, Any], kept: set[str]) -> dict[str, Any]:
    """The PodGroup with the kept subgroups, and those that they are in. What starts is what is left."""
    known = {each["name"]: each for each in group["spec"].get("subGroups", ())}
    wanted = {name for each in kept & set(known) for name in _up(known, each)}
    left = [each for name, each in known.items() if name in wanted]
    return {**group, "spec": {**group["spec"], "subGroups": left}}


def _up(known: Mapping[str, Mapping[str, Any]], name: str) -> Iterator[str]:
    yield name
    if parent := known[name].get("parent"):
        yield from _up(known, parent)
