"""The names of `typing` that bayplan uses. Type checkers see the standard ones.

Importing `typing` takes half as long as starting an interpreter. At run time, annotations need names and no more: a
form with parameters is the type that it describes, or `str` for a Literal.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import IO as IO
    from typing import Annotated as Annotated
    from typing import Any as Any
    from typing import BinaryIO as BinaryIO
    from typing import Generic as Generic
    from typing import Literal as Literal
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeVar as TypeVar
else:

    class Any:
        """Any type."""

    class Generic:
        """The base class of a generic class."""

        __slots__ = ()
        __class_getitem__ = classmethod(lambda cls, parameters: cls)

    class Literal:
        """One of some words."""

        __class_getitem__ = classmethod(lambda cls, words: str)

    class Annotated:
        """A type and how documents have it, for `model/encoding.py`."""

        __slots__ = ("how", "kind")

        def __class_getitem__(cls, parameters):
            """The annotation of a type."""
            self = cls()
            self.kind, self.how = parameters
            return self

    IO = BinaryIO = TextIO = NoReturn = Protocol = Generic

    def TypeVar(name, *bounds):  # noqa: N802
        """A type that differs from use to use."""
        return Any
