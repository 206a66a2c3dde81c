"""What earlier runs loaded and compiled, in one file, so that a run starts faster.

Finding and reading 90 modules, and importing `re` and compiling patterns, take more time than starting an interpreter.
The file is in the folder of the `.pyc` files, for one version of Python. A run that cannot read or write it loads its
modules as usual. The code of a module is used only while its source has the size and the time that it had.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

FILE = f"{__spec__.cached}.startup" if __spec__ and type(__spec__.loader) is SourceFileLoader else ""
"""Empty where the modules are in an archive, as those of the binary."""


def _stamp(source: str) -> list[int]:
    try:
        found = os.stat(source)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


_VERSION = (sys.version, _sre.MAGIC, FILE, *_stamp(__file__ if FILE else ""))
"""A file of another version is not read: its form can be another one."""
_EARLIER = frozenset(sys.modules)
_LIBRARY = os.path.dirname(os.__file__) if FILE else ""
"""The folder of Python's own modules."""

_START = 8
"""The file begins with the length of its index, in as many digits. The index follows, then the code of all modules."""


def _read() -> tuple[int, int, dict[str, Any], dict[Any, Any]]:
    try:
        file = os.open(FILE, os.O_RDONLY)
        length = int(os.pread(file, _START, 0))
        version, modules, patterns = marshal.loads(os.pread(file, length, _START))
        return (file, _START + length, modules, patterns) if version == _VERSION else (-1, 0, {}, {})
    except (OSError, EOFError, ValueError, TypeError):
        return -1, 0, {}, {}


_file, _base, _modules, patterns = _read()
"""Module -> path, time and size of its source, its `.pyc` file, a package's folder, place and length of code.

`patterns` are those of `core.regex`.
"""

_changed = False


class _Loader(SourceFileLoader):
    """Loads a module from the file; everything else, such as the lines of a traceback, comes from the source."""

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            code: CodeType = marshal.loads(_code(fullname))
            return code
        except (OSError, EOFError, ValueError, TypeError):
            return super().get_code(fullname)


def _code(name: str) -> bytes:
    *_, start, length = _modules[name]
    return os.pread(_file, length, _base + start)


class _Finder:
    """Finds modules whose source is the one that the file was made from."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in _modules:
            return None
        source, time, size, cached, folder, _, _ = _modules[name]
        if _stamp(source) != [time, size]:
            return None
        found = ModuleSpec(name, _Loader(name, source), origin=source, is_package=bool(folder))
        found.submodule_search_locations = folder and [folder]
        found.has_location, found.cached = True, cached
        return found


def begin() -> None:
    """Loads the modules that follow from the file."""
    if _modules and _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def keep_pattern(key: tuple[str, int], value: object) -> None:
    """Adds a compiled pattern to what `keep` writes."""
    global _changed
    _changed = True
    patterns[key] = value


def _is_kept(name: str, spec: ModuleSpec | None) -> bool:
    """Whether a module is one of bayplan or of Python, and did not come from the file."""
    if spec is None or spec.origin is None or spec.name != name or type(spec.loader) is not SourceFileLoader:
        return False
    folder = f"{_LIBRARY}/{spec.parent}".rstrip("/")
    return name not in _EARLIER and (name.startswith("bayplan.") or os.path.dirname(spec.origin) == folder)


def _without_docstrings(code: CodeType) -> CodeType:
    """They are a tenth of the code, and a command line does not read them."""
    constants = [_without_docstrings(each) if type(each) is type(code) else each for each in code.co_consts]
    if sys.version_info >= (3, 13):
        documented = code.co_flags & 0x4000000  # `inspect.CO_HAS_DOCSTRING`
    else:
        documented = code.co_flags & 1 and code.co_name[0] != "<"  # `inspect.CO_OPTIMIZED`, and not a comprehension
    if documented and type(constants[0]) is str:
        constants[0] = ""
    return code.replace(co_consts=tuple(constants))


def keep() -> None:
    """Writes the file again if this run loaded more than it has."""
    if not FILE or sys.dont_write_bytecode:
        return
    specs: dict[str, Any] = {name: getattr(each, "__spec__", None) for name, each in sys.modules.items()}
    new = [(name, spec) for name, spec in specs.items() if _is_kept(name, spec)]
    if not new and not _changed:
        return
    temporary = f"{FILE}.{os.getpid()}"
    try:
        codes = {name: (each[:-2], _code(name)) for name, each in _modules.items()}
        for name, spec in new:
            folder = os.path.dirname(spec.origin) if spec.submodule_search_locations else None
            about = (spec.origin, *_stamp(spec.origin), spec.cached, folder)
            codes[name] = (about, marshal.dumps(_without_docstrings(spec.loader.get_code(name))))
        index: dict[str, Any] = {}
        end = 0
        for name, (about, code) in codes.items():
            index[name] = (*about, end, len(code))
            end += len(code)
        whole = marshal.dumps((_VERSION, index, patterns))
        with open(temporary, "xb") as file:
            file.writelines([b"%0*d" % (_START, len(whole)), whole, *(code for _, code in codes.values())])
        os.replace(temporary, FILE)
    except Exception:  # a read-only installation, a full disk, or a source that is gone
        if os.path.exists(temporary):
            os.unlink(temporary)
