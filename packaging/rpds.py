"""The three classes of rpds that jsonschema and referencing use, for the static binary: rpds is written in Rust, whose
compiler a build would need. A class is a value: each method returns a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class HashTrieMap(Mapping[Any, Any]):
    """A mapping. `HashTrieMap.convert` takes any mapping."""

    def __init__(self, items: Any = (), **more: Any) -> None:
        self._items = dict(items, **more)

    @classmethod
    def convert(cls, items: Any) -> HashTrieMap:
        return items if isinstance(items, cls) else cls(items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Any:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"HashTrieMap({self._items!r})"

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        return HashTrieMap({**self._items, key: value})

    def remove(self, key: Any) -> HashTrieMap:
        items = dict(self._items)
        del items[key]
        return HashTrieMap(items)

    def update(self, *others: Any, **more: Any) -> HashTrieMap:
        items = dict(self._items)
        for each in others:
            items.update(each)
        return HashTrieMap(items, **more)


class HashTrieSet(frozenset[Any]):
    """A set."""

    def insert(self, value: Any) -> HashTrieSet:
        return HashTrieSet(self | {value})

    def discard(self, value: Any) -> HashTrieSet:
        return HashTrieSet(self - {value})

    def update(self, *others: Iterable[Any]) -> HashTrieSet:
        return HashTrieSet(self.union(*others))


class List(tuple[Any, ...]):
    """A list that grows in front."""

    __slots__ = ()

    def __new__(cls, *items: Any) -> List:
        return super().__new__(cls, items[0] if len(items) == 1 else items)

    def push_front(self, value: Any) -> List:
        return List((value, *self))

    @property
    def first(self) -> Any:
        return self[0]
