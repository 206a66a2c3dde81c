"""Workloads that differ only in their name: bayplan places two of them, and fills in the name of the others.

The two show where a result has the name. Nothing is filled in if they differ in another way, such as in a hash of the
name, or if there is anything to report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.kube.objects import identity, name, put
from bayplan.model.augment import Added, Augmented, Change, Path
from bayplan.model.manifest import Object, Shape
from bayplan.model.plan import Plan, name_hash
from bayplan.planning.existing import renamed
from bayplan.workflows.existing import Selected

_DIGIT = re.compile("[0-9]")


Place = tuple[Path, str]
"""The path of a string with the name or a hash of it, and the string with holes in place of these."""

_HOLES = tuple(f"\0{chr(0xE000 + number)}" for number in range(100))
"""No YAML has NUL, and no name has the other characters."""


class Form(NamedTuple):
    """An object of a twin, and where it has the name."""

    data: Any
    places: tuple[Place, ...]

    def filled(self, words: Sequence[str]) -> Any:
        """The object with the words of a plan. Parts without them are shared."""
        data = self.data
        for path, form in self.places:
            data = put(data, path, _in_holes(form, words))
        return data


def _words(plan: Plan) -> tuple[str, ...]:
    """What depends on the name of a plan: the hashes of its gangs, and the name."""
    return (*(name_hash(plan, gang) for gang in plan.gangs[: len(_HOLES) - 1]), plan.workflow.name)


def _with_holes(value: str, words: Sequence[str]) -> str:
    for hole, word in zip(_HOLES, words, strict=False):
        value = value.replace(word, hole)
    return value


def _in_holes(form: str, words: Sequence[str]) -> str:
    for hole, word in zip(_HOLES, words, strict=False):
        form = form.replace(hole, word)
    return form


class Forms(NamedTuple):
    """What the results of twins have in common: the changed object, the objects to add, and the plan of the first."""

    changed: tuple[Form, ...]
    added: tuple[Form, ...]
    plan: Plan


def key(selected: Selected) -> tuple[int | None, str] | None:
    """The same for workloads that differ only in their name, and have digits at the same places of it.

    None: bayplan places the workload together with another object.
    """
    templates = selected.templates
    if templates.workload or templates.opened_from or templates.patched:
        return None
    data = templates.object.data
    nameless = {**data, "metadata": {**data["metadata"], "name": _DIGIT.sub("0", name(templates.object))}}
    return selected.rule, repr(nameless)


def forms(one: Object, first: Augmented, two: Object, second: Augmented) -> Forms | None:
    """What the results of two twins have in common. None if they differ in more than the name."""
    sizes = {(len(each.plans), len(each.changes), len(each.added)) for each in (first, second)}
    own = all(_is_own(*each) for each in ((one, first), (two, second)))
    if not own or len(sizes) > 1 or len(first.plans) != 1 or name(one) == name(two):
        return None
    words = _words(first.plans[0]), _words(second.plans[0])
    left, right = (
        [*(each.data for each in result.changes), *(each.data for each in result.added)] for result in (first, second)
    )
    found = [_form(*pair, words) for pair in zip(left, right, strict=True)]
    known = tuple(each for each in found if each)
    split = len(first.changes)
    return Forms(known[:split], known[split:], first.plans[0]) if len(known) == len(found) else None


def _is_own(one: Object, result: Augmented) -> bool:
    """Whether the result changes no other object."""
    return all(each.route == one.route for each in result.changes) and not result.removed


def filled(shared: Forms, one: Object, objects: Mapping[tuple[str, str, str, str], Object]) -> Augmented | None:
    """The result of another twin. None if one of its new objects exists already."""
    plan, _ = renamed(shared.plan, Shape(()), name(one))
    words = _words(plan)
    added = tuple(Added(each.filled(words), one.route) for each in shared.added)
    if any(identity(each.data) in objects for each in added):
        return None
    return Augmented(tuple(Change(one.route, each.filled(words)) for each in shared.changed), added, (plan,))


Words = tuple[tuple[str, ...], tuple[str, ...]]
"""Those of two plans."""


def _form(left: Any, right: Any, words: Words) -> Form | None:
    found = tuple(_differences(left, right, words))
    places = tuple((path, form) for path, form in found if form)
    return Form(left, places) if len(places) == len(found) else None


def _differences(left: Any, right: Any, words: Words, path: Path = ()) -> Iterator[Place]:
    """The places at which two values differ. An empty string: they differ in something else than the words."""
    if isinstance(left, Mapping) and isinstance(right, Mapping) and list(left) == list(right):
        for at, each in left.items():
            yield from _differences(each, right[at], words, (*path, at))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for at, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differences(one, other, words, (*path, at))
    elif type(left) is not type(right) or left != right:
        form = _with_holes(left, words[0]) if isinstance(left, str) else ""
        yield path, form if _in_holes(form, words[1]) == right else ""
