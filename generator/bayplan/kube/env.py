"""The order of environment variables: Kubernetes expands `$(NAME)` only where NAME stands earlier in the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def entries(env: Mapping[str, str]) -> tuple[Mapping[str, Any], ...]:
    """The variables by name, but each after those that its value refers to.

    No order expands all of a circle: the reference that leads back to where the walk entered it stays as it is, and
    the walk enters by the first name.
    """
    return tuple({"name": name, "value": env[name]} for name in _walk(env))


def _walk(env: Mapping[str, str]) -> Iterator[str]:
    """Every variable once, depth first. A stack of its own: chains may be longer than Python's."""
    seen: set[str] = set()
    stack = [(name, False) for name in sorted(env, reverse=True)]
    while stack:
        name, done = stack.pop()
        if done:
            yield name
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            stack += [(other, False) for other in sorted(_references(env[name]), reverse=True) if other in env]


def _references(value: str) -> set[str]:
    """The names in `$(NAME)`. An escaped `$$(NAME)` counts too: it only makes the order stricter."""
    return {part.partition(")")[0] for part in value.split("$(")[1:] if ")" in part}
