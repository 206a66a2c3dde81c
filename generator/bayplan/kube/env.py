"""The order of environment variables: Kubernetes expands `$(NAME)` only where NAME stands earlier in the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def entries(env: Mapping[str, str]) -> tuple[Mapping[str, Any], ...]:
    """The variables by name, but each after those that its value refers to. A circle stays in the order of names."""
    placed: dict[str, str] = {}
    for name in sorted(env):
        for each in _first(name, env, frozenset()):
            placed.setdefault(each, env[each])
    return tuple({"name": name, "value": value} for name, value in placed.items())


def _first(name: str, env: Mapping[str, str], above: frozenset[str]) -> Iterator[str]:
    """What a variable refers to, then the variable."""
    if "$(" in env[name]:
        for other in sorted(env):
            if f"$({other})" in env[name] and other not in above and other != name:
                yield from _first(other, env, above | {name})
    yield name
