"""Imports the modules of the static binary from its memory, and starts the command that its name says.

The binary runs this before every other module. `packaging/binary` writes the archive: the length of the index in four
bytes, the index, then all contents. The index has the place of each file: `{"bayplan/cli/run.py": (start, size)}`. What
ends in `.py` is the compiled code of that module.
"""

import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter, ModuleSpec
from marshal import loads
from posix import fspath, getcwd

from _bayplan import archive

SIZE = int.from_bytes(archive[:4], "little")
INDEX = loads(archive[4 : 4 + SIZE])
ROOT = "/bayplan.binary/"
"""What begins the path of each module and file. No such folder exists."""


def content(name):
    """The bytes of a file of the archive."""
    start, size = INDEX[name]
    return archive[4 + SIZE + start : 4 + SIZE + start + size]


class Archive:
    """Finds, loads and reads what is in the archive. Built-in modules may be in packages."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        base = name.replace(".", "/")
        for file in (f"{base}/__init__.py", f"{base}.py"):
            if file in INDEX:
                spec = ModuleSpec(name, Archive, origin=ROOT + file, is_package=file != f"{base}.py")
                spec.has_location = True
                if spec.submodule_search_locations is not None:
                    spec.submodule_search_locations.append(ROOT + base)
                return spec
        return BuiltinImporter.find_spec(name)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(Archive.get_code(module.__name__), module.__dict__)

    @staticmethod
    def get_code(name):
        return loads(content(Archive.find_spec(name).origin.removeprefix(ROOT)))

    @staticmethod
    def get_source(name):
        return None

    @staticmethod
    def get_data(path):
        """The content of a file, as loaders of other kinds return it."""
        try:
            return bytes(content(fspath(path).removeprefix(ROOT)))
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory", path) from None

    @staticmethod
    def listdir(path):
        """The names in a folder."""
        folder = path.removeprefix(ROOT) + "/"
        return {name.removeprefix(folder).partition("/")[0] for name in INDEX if name.startswith(folder)}

    @staticmethod
    def get_resource_reader(name):
        """For `importlib.resources`, which jsonschema uses."""
        from importlib.resources.abc import Traversable, TraversableResources

        return _resources(Traversable, TraversableResources)(ROOT + name.replace(".", "/"))

    @staticmethod
    def find_distributions(context):
        """For `importlib.metadata`."""
        from importlib.metadata import Distribution

        class Archived(Distribution):
            def __init__(self, folder):
                self.folder = folder

            def read_text(self, file):
                path = f"{self.folder}/{file}"
                return bytes(content(path)).decode() if path in INDEX else None

            def locate_file(self, path):
                return ROOT + path

        asked = context.name and context.name.lower().replace("-", "_").replace(".", "_")
        for name in INDEX:
            folder, _, file = name.partition("/")
            if file == "METADATA" and asked in (None, folder.rpartition("-")[0].lower()):
                yield Archived(folder)


def _resources(traversable, reader):
    class File(traversable):
        def __init__(self, path):
            self.path = path

        @property
        def name(self):
            return self.path.rpartition("/")[2]

        def is_file(self):
            return self.path.removeprefix(ROOT) in INDEX

        def is_dir(self):
            return bool(Archive.listdir(self.path))

        def iterdir(self):
            return (File(f"{self.path}/{each}") for each in sorted(Archive.listdir(self.path)))

        def joinpath(self, *parts):
            return File("/".join((self.path, *parts)))

        __truediv__ = joinpath

        def open(self, mode="r", *options, **more):
            from io import BytesIO, TextIOWrapper

            file = BytesIO(Archive.get_data(self.path))
            return file if "b" in mode else TextIOWrapper(file, *options, **more)

    class Reader(reader):
        def __init__(self, path):
            self.path = path

        def files(self):
            return File(self.path)

    return Reader


def install(folders):
    """`bayplan-install DIR`: copies the binary under both names, for images without `cp`. Returns the exit code."""
    import os
    import shutil

    if len(folders) != 1:
        sys.stderr.write("Usage: bayplan-install DIR\n")
        return 2
    try:
        for name in ("bayplan", "bayplan-krm"):  # two copies: nobody starts a file that is not complete
            path = os.path.join(folders[0], name)
            shutil.copyfile(sys.executable, f"{path}.new")
            os.chmod(f"{path}.new", 0o755)
            os.replace(f"{path}.new", path)
    except OSError as problem:
        sys.stderr.write(f"bayplan-install: {problem}\n")
        return 1
    return 0


def start():
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Archive]
    sys.path_hooks.clear()
    sys.frozen = Archive
    if "/" in sys.executable and not sys.executable.startswith("/"):
        sys.executable = f"{getcwd()}/{sys.executable}"
    name = sys.argv[0].rpartition("/")[2]
    sys.argv[0] = sys.executable
    if name == "bayplan-sandbox":
        from bayplan.plugins.osmo.sandbox.child import main

        main()
        sys.exit()
    if name == "bayplan-install":
        sys.exit(install(sys.argv[1:]))
    from bayplan.__main__ import argocd, krm, script

    {"bayplan-argocd": argocd, "bayplan-krm": krm}.get(name, script)()


start()
