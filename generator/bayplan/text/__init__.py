"""The only reader and writer of YAML and JSON. It reads, finds positions, emits and patches."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# The output of bayplan: a Kubernetes object as plain data, many objects of one skeleton, or a file.

Manifest = Mapping[str, Any]
"""One Kubernetes object as plain data. `emit` keeps the order of its keys."""


class File(NamedTuple):
    """A file that is not YAML: a batch script, or the configuration of a scheduler.

    `undo`: the commands that undo running it.
    """

    name: str
    text: str
    undo: tuple[str, ...] = ()


class Slot(NamedTuple):
    """A place in a skeleton. `name`: a DNS-1123 name; `text`: a number in quotes; `number`: a bare integer."""

    column: int
    form: str  # name | text | number


class Many(NamedTuple):
    """One skeleton document with `Slot`s in its values and keys, and rows to fill them: one document per row.

    A string value may also be a tuple of strings and slots to join.
    """

    skeleton: Manifest
    rows: Iterable[tuple[str | int, ...]]


Item = Manifest | Many | File
"""An output of a run: one object, many objects, or a file."""
