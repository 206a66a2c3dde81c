"""What metadata asks of bayplan: keys that begin with `bayplan.dev/`, as `dist.ddp --metadata` can set them.

They stand in the application's metadata; those of pods stand in a role's too, where they count more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import KEY, Diagnostic, Route, error
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean, listing
from bayplan.workflows.torchx.translate.finding import ROOT

PREFIX = "bayplan.dev/"
SPEC = {"scheduler": "scheduler"}
GANG = {"workload": "workload", "placement": "placement", "compute-domain": "computeDomain"}
LEVELS = ("required", "preferred")
"""A placement in two words, since TorchX' command line splits values at commas and semicolons."""
POD_SET = {"pool": "pool", "fabric": "fabric"}
WORDS = (*SPEC, *GANG, *LEVELS, *POD_SET)


class Wishes(NamedTuple):
    """Keys of the workflow's spec, of its gang and of its podSets; where each stands; what was found."""

    spec: Mapping[str, Any] = {}
    gang: Mapping[str, Any] = {}
    pods: Mapping[str, Any] = {}
    places: Mapping[str, Route] = {}
    found: tuple[Diagnostic, ...] = ()


def of_application(app: Mapping[str, Any]) -> Wishes:
    """Those of the application. W589: a word that bayplan does not know, or a value that it does not take."""
    return _wishes(app.get("metadata") or {}, WORDS, (*ROOT, "metadata"))


def of_role(role: Mapping[str, Any], route: Route) -> Wishes:
    """Those of a role."""
    return _wishes(role.get("metadata") or {}, tuple(POD_SET), (*route, "metadata"))


def _wishes(metadata: Mapping[str, Any], words: tuple[str, ...], route: Route) -> Wishes:
    values: dict[str, Any] = {}
    found: list[Diagnostic] = []
    for key, value in metadata.items():
        if not key.startswith(PREFIX):
            continue
        word = key.removeprefix(PREFIX)
        wrong = tuple(_wrong(word, value, words, (*route, key)))
        found += wrong
        values |= {} if wrong else {word: _placement(value) if word == "placement" else value}
    levels = {word: values.pop(word) for word in LEVELS if word in values}
    at = {"placement": (*route, f"{PREFIX}{next(iter(levels))}")} if levels and "placement" not in values else {}
    values |= {"placement": {**values.get("placement", {}), **levels}} if levels else {}
    keys = {**SPEC, **GANG, **POD_SET}
    return Wishes(
        {SPEC[word]: value for word, value in values.items() if word in SPEC},
        {GANG[word]: value for word, value in values.items() if word in GANG},
        {POD_SET[word]: value for word, value in values.items() if word in POD_SET},
        {keys[word]: (*route, f"{PREFIX}{word}") for word in values} | at,
        tuple(found),
    )


def _wrong(word: str, value: Any, words: tuple[str, ...], route: Route) -> Iterator[Diagnostic]:
    if word not in words:
        hint = did_you_mean(word, words) or f"known here: {listing(words, 'and')}"
        yield error("W589", (*route, KEY), f'bayplan knows no metadata "{PREFIX}{word}" here', hint=hint)
    elif not isinstance(value, str):
        yield error("W589", route, f"the value of {PREFIX}{word} must be a text", hint="put it in quotes")
    elif word == "placement" and not _placement(value):
        hint = "write it as required=spine,preferred=rack, or either alone"
        yield error("W589", route, f'"{value}" names no level as required or preferred', hint=hint)


def _placement(text: str) -> dict[str, str]:
    """`required=spine,preferred=rack`, as annotations have it. Empty where it is no such thing."""
    parts = [each.partition("=") for each in text.split(",")]
    made = {key.strip(): level.strip() for key, _, level in parts}
    sound = len(made) == len(parts) and set(made) <= set(LEVELS) and all(made.values())
    return made if sound else {}
