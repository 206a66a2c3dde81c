"""`typing.NamedTuple`, created in a twentieth of the time, and mappings whose values are modules.

The standard one compiles a constructor and the annotations of each class in every process. With some hundred classes,
this takes half as long as an interpreter start. Type checkers see the standard one. At run time, a class has item
getters and one constructor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import takewhile

from bayplan.core.typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    _VALUE = 1
    """`annotationlib.Format.VALUE`."""

    class _Maker(type):
        """Turns the body of a class into a tuple type with the interface of `collections.namedtuple`."""

        def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
            if not bases or bases == (tuple,):
                return super().__new__(mcs, name, bases, body)
            annotate = body.get("__annotate_func__")  # Python 3.14, in a module without `from __future__`
            fields = tuple(annotate(_VALUE) if annotate else body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            body |= {field: _tuplegetter(number, "") for number, field in enumerate(fields)}
            body |= {"__slots__": (), "_fields": fields, "__match_args__": fields, "_field_defaults": defaults}
            body |= {"__new__": _constructor(name, fields, defaults), **_METHODS}
            return type(name, (tuple,), body)

    class NamedTuple(tuple, metaclass=_Maker):
        """The base class to write. The resulting classes are plain tuples."""

    def _constructor(name: str, fields: tuple[str, ...], defaults: dict[str, Any]) -> Any:
        size = len(fields)

        def construct(cls: type, *values: Any, **named: Any) -> Any:
            if named or len(values) != size:
                values = _complete(name, fields, defaults, values, named)
            return tuple.__new__(cls, values)

        return construct

    def _complete(name: str, fields: tuple[str, ...], defaults: Any, values: Any, named: Any) -> tuple[Any, ...]:
        """All values in order. TypeError, as from a function call."""
        open_fields = fields[len(values) :]
        try:
            rest = [named.pop(field) if field in named else defaults[field] for field in open_fields]
        except KeyError as missing:
            raise TypeError(f"{name}() lacks {missing}") from None
        if named or len(values) > len(fields):
            raise TypeError(f"{name}() takes {', '.join(fields)}; got {len(values)} values and {sorted(named)}")
        return (*values, *rest)

    def _replace(self: Any, **changes: Any) -> Any:
        values = tuple.__new__(type(self), map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"Got unexpected field names: {[*changes]!r}")
        return values

    def _repr(self: Any) -> str:
        fields = zip(self._fields, self, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"

    _METHODS: dict[str, Any] = {
        "_replace": _replace,
        "_asdict": lambda self: dict(zip(self._fields, self, strict=True)),
        "_make": classmethod(lambda cls, values: cls(*values)),
        "__repr__": _repr,
        "__getnewargs__": lambda self: tuple(self),
        "__class_getitem__": classmethod(lambda cls, parameters: cls),
    }


T = TypeVar("T")
K = TypeVar("K")


def common(paths: Iterable[Sequence[T]]) -> tuple[T, ...]:
    """The common beginning of all paths."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, zip(*paths, strict=False)))


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Each key with its values, in the order of the pairs."""
    groups: dict[K, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


class Modules(Mapping[str, T]):
    """The modules of a package by name, imported at their first use: a run needs one or two of them.

    `attribute`: use this attribute of the module as the value. A dash in a name is an underscore in the module name.
    """

    def __init__(self, package: str, names: tuple[str, ...], attribute: str = "") -> None:
        self.package, self.names, self.attribute = package, names, attribute

    def __getitem__(self, name: str) -> T:
        if name not in self.names:
            raise KeyError(name)
        module: Any = import_module(f"{self.package}.{name.replace('-', '_')}")
        value: T = getattr(module, self.attribute) if self.attribute else module
        return value

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
