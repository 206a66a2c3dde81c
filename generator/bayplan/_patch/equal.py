"""Whether two values are the same to a reader of YAML: `true` is not 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def same(left: Any, right: Any) -> bool:
    """The same data. The order of keys does not count; whole floats are integers."""
    if left is right:
        return True
    kind = type(left)
    if kind is str or kind is bool or left is None or type(right) is bool:
        return type(right) is kind and bool(left == right)
    if kind is dict or isinstance(left, Mapping):
        if (type(right) is not dict and not isinstance(right, Mapping)) or len(left) != len(right):
            return False
        return all(key in right and same(item, right[key]) for key, item in left.items())
    if isinstance(left, list | tuple):
        if not isinstance(right, list | tuple) or len(left) != len(right):
            return False
        return all(map(same, left, right))
    return bool(left == right)
