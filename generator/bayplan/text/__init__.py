"""The only reader and writer of YAML and JSON: reading, positions on demand, emitting, patching."""

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.core.values import NamedTuple

# What can be written: a Kubernetes object as plain data, many of them made from one skeleton, a text of its own.

Manifest = Mapping[str, Any]
"""One Kubernetes object as plain data. Its keys are written in the order they have."""


class File(NamedTuple):
    """A document that is text of its own: a batch script, a scheduler's configuration.

    `undo`: the commands that take back what running it did.
    """

    name: str
    text: str
    undo: tuple[str, ...] = ()


class Slot(NamedTuple):
    """A place in a skeleton. `name`: a DNS-1123 name; `text`: a number in quotes; `number`: a bare integer."""

    column: int
    form: str  # name | text | number


class Many(NamedTuple):
    """One skeleton document with `Slot`s among its values (and keys), filled once a row: n documents at once.

    A string value may also be a tuple of strings and slots, which are joined.
    """

    skeleton: Manifest
    rows: Iterable[tuple[str | int, ...]]


Item = Manifest | Many | File
"""What a run puts out: one object, many, or a text."""
