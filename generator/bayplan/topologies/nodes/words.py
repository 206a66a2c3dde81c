"""How nodes are spoken of."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.phrases import listing


def named(names: Sequence[str]) -> str:
    """`node "n1"`, `nodes "n1", "n2" and 4 more`."""
    return f"{'node' if len(names) == 1 else 'nodes'} {listing(names, 'and', most=5)}"


def has(names: Sequence[str]) -> str:
    """`node "n1" has`."""
    return f"{named(names)} {'has' if len(names) == 1 else 'have'}"


def are(names: Sequence[str]) -> str:
    """`node "n1" is`."""
    return f"{named(names)} {'is' if len(names) == 1 else 'are'}"


def as_said(names: Sequence[str]) -> str:
    """`as node "n1" says`."""
    return f"as {named(names)} {'says' if len(names) == 1 else 'say'}"
