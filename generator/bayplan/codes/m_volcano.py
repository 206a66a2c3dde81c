"""Manifests: volcano."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M720": "HyperNodes in a cycle",
    "M721": "a HyperNode with two parents",
    "M722": "a HyperNode that is not there",
    "M723": "tiers that do not grow upwards",
    "M724": "a node in two HyperNodes",
    "M725": "a selector that matches no node",
    "M726": "HyperNodes that are not named exactly",
    "M727": "one tier name for two tiers",
    "M728": "nodes beside HyperNodes",
    "M729": "branches of different depth",
    "M730": "a member that selects nothing",
    "M731": "a network topology that constrains nothing",
    "M732": "a tier by number and by name",
    "M733": "partitions and pods that do not add up",
    "M734": "an inner tier above the outer one",
    "M735": "pods that no subgroup takes",
    "M736": "a PodGroup that is not there",
    "M737": "minimums that do not hold the gang together",
    "M738": "a policy that is shadowed",
    "M739": "pods or work that Volcano does not take",
}
