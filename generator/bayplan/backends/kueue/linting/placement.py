"""Annotations that ask Kueue for a topology, on one pod template.

Kueue's webhooks refuse most of these (0.14 to 0.19, `tas_validation.go`); what concerns the order of levels, only the
scheduler sees, and the workload waits (`tas_flavor_snapshot.go`). An annotation that Kueue does not know it ignores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from bayplan.backends.kueue.linting.ladders import Ladder, ordered
from bayplan.backends.kueue.linting.templates import Template
from bayplan.backends.kueue.words import (
    LAYER_GATE,
    LAYERS,
    LEVEL_LENGTH,
    MOST_LAYERS,
    PLACEMENT,
    PREFERRED,
    PREFIX,
    REQUIRED,
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
)
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error
from bayplan.core.phrases import count, did_you_mean, listing, suggest
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import number_in, text
from bayplan.model.target import Target


class Place(NamedTuple):
    """One template with all that its annotations are compared with."""

    route: Route  # of the annotations
    template: Template
    ladders: tuple[Ladder, ...]
    target: Target
    gates: dict[str, bool]

    @property
    def own(self) -> dict[str, str]:
        """Those annotations that ask for a topology and are text."""
        found = self.template.annotations
        return {key: found[key] for key in PLACEMENT if isinstance(found.get(key), str)}

    def at(self, key: str) -> Route:
        """Where one annotation stands."""
        return (*self.route, key)


def rules(place: Place) -> Iterator[Diagnostic]:
    """Everything that is wrong with the annotations of one template."""
    yield from _unread(place)
    yield from _exclusive(place)
    yield from _slices(place)
    yield from _layers(place)
    yield from _levels(place)


def _unread(place: Place) -> Iterator[Diagnostic]:
    """M759: a name that Kueue does not know, or a value that is no text."""
    for key, value in place.template.annotations.items():
        if not (isinstance(key, str) and key.startswith(f"{PREFIX}podset-")):
            continue
        if key not in PLACEMENT:
            hint = did_you_mean(key, PLACEMENT) or f"Kueue knows {listing(PLACEMENT, 'and')}"
            yield error("M759", (*place.at(key), KEY), f'Kueue does not know the annotation "{key}"', hint=hint)
        elif not isinstance(value, str) and key != SLICE_SIZE:
            yield error(
                "M759", place.at(key), f'the value of "{key}" is no text', hint="annotations are text: quote it"
            )


def _exclusive(place: Place) -> Iterator[Diagnostic]:
    """M749: required, preferred and unconstrained exclude each other."""
    given = [key for key in (REQUIRED, PREFERRED, UNCONSTRAINED) if key in place.template.annotations]
    if len(given) > 1:
        message = f"Kueue refuses {listing(given, 'and')} on one pod template: they exclude each other"
        hint = "keep the required level; Kueue packs below it as tightly as it can"
        yield error("M749", place.at(given[1]), message, hint=hint)


def _slices(place: Place) -> Iterator[Diagnostic]:
    """M750: slices need a level and a size that divides the pods."""
    found = place.template.annotations
    if SLICE_LEVEL in found and SLICE_SIZE not in found:
        message, hint = f'"{SLICE_LEVEL}" without "{SLICE_SIZE}"', "say how many pods a slice has; there is no default"
        yield error("M750", place.at(SLICE_LEVEL), message, hint=hint)
    if SLICE_SIZE in found and SLICE_LEVEL not in found:
        message, hint = f'"{SLICE_SIZE}" without "{SLICE_LEVEL}"', "name the level that each slice must share"
        yield error("M750", place.at(SLICE_SIZE), message, hint=hint)
    if SLICE_SIZE in found and (fault := _size_fault(found[SLICE_SIZE], place.template.pods)):
        yield error("M750", place.at(SLICE_SIZE), *fault[:1], hint=fault[1])


def _size_fault(value: Any, pods: int | None) -> tuple[str, str] | None:
    """What is wrong with a slice size, and what to do."""
    if not isinstance(value, str):
        return "the slice size is no text, and Kubernetes takes only text in annotations", f'write "{value}" in quotes'
    if not value.isascii() or not value.removeprefix("-").isdigit() or int(value) < 1:
        return f'the slice size "{value}" is no number from 1 on', "write the pods of one slice, in quotes"
    return _division(int(value), pods)


def _division(size: int, pods: int | None) -> tuple[str, str] | None:
    if pods and size > pods:
        return f"a slice of {size} pods is larger than the podSet of {count(pods, 'pod')}", "Kueue refuses it"
    if pods and pods % size:
        left = "Kueue takes it and places the rest of the pods as if there were no slices"
        return f"slices of {size} pods do not divide the {count(pods, 'pod')} of the podSet", left
    return None


def _layers(place: Place) -> Iterator[Diagnostic]:
    """M751: nested slices are a JSON list of levels and sizes, since 0.17 behind a gate, since 0.19 on by default."""
    value = place.own.get(LAYERS)
    if value is None:
        return
    version = place.target.version("kueue")
    if not place.target.since("kueue", "0.17"):
        yield error("M751", (*place.at(LAYERS), KEY), f"Kueue {version} does not read nested slices; 0.17 does")
    elif not place.gates.get(LAYER_GATE, place.target.since("kueue", "0.19")):
        message = f"Kueue {version} refuses nested slices unless the feature gate {LAYER_GATE} is on"
        hint = "switch it on, and say so in the topology's `schedulers: {kueue: {featureGates}}`"
        yield error("M751", (*place.at(LAYERS), KEY), message, hint=hint)
    both = [key for key in (SLICE_LEVEL, SLICE_SIZE) if key in place.template.annotations]
    if both:
        yield error("M751", (*place.at(LAYERS), KEY), f"nested slices exclude {listing(both, 'and')}")
    if fault := _layer_fault(value, place.template.pods):
        hint = 'write \'[{"topology": "example.com/spine", "size": 16}, {"topology": "example.com/rack", "size": 8}]\''
        yield error("M751", place.at(LAYERS), fault, hint=hint)


def _layer_fault(value: str, pods: int | None) -> str:
    """What Kueue refuses in the JSON."""
    layers = parsed(value)
    if layers is None:
        return "nested slices are a JSON list of objects with `topology` and `size`, the size a number"
    if not 1 <= len(layers) <= MOST_LAYERS:
        return f"nested slices have 1 to {MOST_LAYERS} layers, here there are {len(layers)}"
    sizes = [size for _, size in layers]
    if min(sizes) < 1:
        return "the size of a slice is a number from 1 on"
    if fault := _division(sizes[0], pods):
        return fault[0]
    uneven = next(((outer, inner) for outer, inner in pairwise(sizes) if outer % inner), None)
    return f"slices of {uneven[1]} pods do not divide slices of {uneven[0]}" if uneven else ""


def parsed(value: str) -> list[tuple[str, int]] | None:
    """The levels and sizes in the annotation; None when it is none that Kueue can read."""
    try:
        layers = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(layers, list):
        return None
    found = [(text(each, "topology"), number_in(each, "size")) for each in layers]
    whole = [(level, size) for level, size in found if level and size is not None]
    return whole if len(whole) == len(layers) else None


def _levels(place: Place) -> Iterator[Diagnostic]:
    """M754: levels that no Topology has, or in the wrong order. M744: levels that are too long for a workload."""
    named = _named(place)
    known = {label for ladder in place.ladders for label in ladder}
    for key, label in named:
        if len(label) > LEVEL_LENGTH and place.target.since("kueue", "0.15"):
            message = f'"{label}" has {len(label)} characters; a Workload takes levels of {LEVEL_LENGTH} at most'
            yield error("M744", place.at(key), message)
        if known and label not in known:
            message = f'no level has the node label "{label}", so the workload would wait for ever'
            yield error("M754", place.at(key), message, hint=suggest(label, sorted(known), "levels"))
    labels = [label for _, label in named]
    if len(labels) < 2 or not known or not set(labels) <= known:
        return
    if not any(_coarse_to_fine(place, labels, ladder) for ladder in place.ladders):
        message = f"Kueue wants the levels from coarse to fine, and {listing(labels, 'and')} are not"
        yield error("M754", place.at(named[-1][0]), message, hint="a slice's level is below that of its podSet")


def _named(place: Place) -> list[tuple[str, str]]:
    """The levels that are named, outermost first, each with its annotation."""
    outer = [(key, place.own[key]) for key in (REQUIRED, PREFERRED) if key in place.own][:1]
    inner = [(SLICE_LEVEL, place.own[SLICE_LEVEL])] if SLICE_LEVEL in place.own else []
    layers = [(LAYERS, level) for level, _ in parsed(place.own.get(LAYERS, "")) or ()]
    return [*outer, *inner, *layers]


def _coarse_to_fine(place: Place, labels: list[str], ladder: Ladder) -> bool:
    """The podSet's level may be the slices' too; layers must differ."""
    podset = bool({REQUIRED, PREFERRED} & set(place.own))
    if podset and not ordered(labels[:2], ladder, strictly=False):
        return False
    return ordered(labels[1:] if podset else labels, ladder)
