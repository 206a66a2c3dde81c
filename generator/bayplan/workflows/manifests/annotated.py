"""What a workload's annotations ask for: `bayplan.dev/placement` and its siblings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import KEY, Diagnostic, Outcome, Route, error
from bayplan.kube.objects import title
from bayplan.kube.safe import mapping
from bayplan.kube.templates import templates
from bayplan.model.manifest import Object
from bayplan.model.workflow import Placement
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean, listing, shorten

PREFIX = "bayplan.dev/"
OWN = frozenset(
    {
        *("accepted", "gang", "group", "level", "path", "pod-set", "separate", "subgroup", "subgroup-policy"),
        *("leaves", "levels", "nvlink-domain"),
        *("topology", "whole-node", "workflow"),
    }
)
"""Keys that bayplan writes itself: nobody asks for anything by them."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DOTTED = re.compile(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?")
DOMAINS = ("auto", "group", "gang", "never")
MOST = 1_000_000


class Said(NamedTuple):
    """A wish, and where it was said."""

    value: Any
    route: Route


class UnfitError(ValueError):
    """Why a text is none of what stands there, and what would be."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def first(one: Object) -> Route | None:
    """The first annotation that asks for a placement, even one that is misspelt."""
    for key in mapping(one.data, "metadata", "annotations"):
        if isinstance(key, str) and key.startswith(PREFIX) and key[len(PREFIX) :] not in OWN:
            return (*one.route, "metadata", "annotations", key)
    return None


def read(one: Object) -> Outcome[Mapping[str, Said]]:
    """Word -> what was said. A940: an unknown word; A941: a value that it does not take."""
    route = (*one.route, "metadata", "annotations")
    found: dict[str, Said] = {}
    wrong: list[Diagnostic] = []
    for key, value in mapping(one.data, "metadata", "annotations").items():
        if not isinstance(key, str) or not key.startswith(PREFIX):
            continue
        word = key[len(PREFIX) :]
        if word in OWN:
            continue
        if word not in WORDS:
            wrong.append(_unknown((*route, key, KEY), key))
            continue
        try:
            found[word] = Said(_value(word, value), (*route, key))
        except UnfitError as unfit:
            wrong.append(error("A941", (*route, key), str(unfit), hint=unfit.hint))
    return Outcome(None if wrong else found, tuple(wrong))


def _unknown(route: Route, key: str) -> Diagnostic:
    hint = did_you_mean(key, [PREFIX + word for word in WORDS]) or f"known: {listing(WORDS, 'and')}"
    return error("A940", route, f'bayplan knows no annotation "{shorten(key)}"', hint=hint)


def _value(word: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise UnfitError(f"the value of {PREFIX}{word} is no text", "put it in quotes: annotations are texts")
    return WORDS[word](value.strip())


def _placement(value: str) -> Placement:
    """`required=spine,preferred=rack`, either alone, in any order."""
    found: dict[str, str] = {}
    for part in value.split(","):
        key, equals, level = (each.strip() for each in part.partition("="))
        if not equals or key not in Placement._fields:
            near = did_you_mean(key, Placement._fields) if equals else ""
            shown = f'"{shorten(part.strip())}" says neither `required=LEVEL` nor `preferred=LEVEL`'
            raise UnfitError(shown, near or "write it as required=spine,preferred=rack")
        if key in found:
            raise UnfitError(f'"{key}" is there twice', "name one level for each")
        found[key] = _matching(NAME, "the name of a level")(level)
    return Placement(**found)


def _size(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= len(str(MOST)) and 1 <= int(value) <= MOST):
        raise UnfitError(f'"{shorten(value)}" is no number of pods', f"use a whole number from 1 to {MOST}")
    return int(value)


def _domain(value: str) -> str:
    if value not in DOMAINS:
        raise UnfitError(f'"{shorten(value)}" says not who shares a ComputeDomain', f"use {listing(DOMAINS)}")
    return value


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            shown = f'"{shorten(value)}" is not {what}' if value else f"{what} is missing"
            raise UnfitError(shown, "use lower-case letters, digits and dashes, 63 at most")
        return value

    return check


WORDS: Mapping[str, Callable[[str], Any]] = {
    "placement": _placement,
    "group-size": _size,
    "group-placement": _placement,
    "compute-domain": _domain,
    "pool": _matching(NAME, "the name of a pool"),
    "fabric": _matching(NAME, "the name of a fabric"),
    "scheduler": _matching(NAME, "the name of a scheduler"),
    "queue": _matching(DOTTED, "the name of a queue"),
}
"""Word after the prefix -> what makes a value of its text."""


ASKED = frozenset(PREFIX + word for word in WORDS)


def misplaced(one: Object) -> Iterator[Diagnostic]:
    """A948: what is asked for where nobody looks, among labels or on pod templates."""
    yield from _among(one, mapping(one.data, "metadata", "labels"), (*one.route, "metadata", "labels"), "a label")
    for each in templates((one,)):
        if each.owned:
            at = (*each.route, "metadata")
            yield from _among(one, each.labels, (*at, "labels"), "a label of its pods")
            yield from _among(one, each.annotations, (*at, "annotations"), "an annotation of its pods")


def _among(one: Object, kept: Mapping[str, Any], route: Route, what: str) -> Iterator[Diagnostic]:
    for key in sorted(ASKED & kept.keys()):
        message = f"{key} is {what} here, and {title(one)} is placed by its own annotations"
        yield error("A948", (*route, key, KEY), message, hint="move it to `metadata.annotations` of the workload")
