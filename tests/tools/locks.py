"""The lock files in `requirements/`: every distribution that CI, the image and a release install, with its hashes.

`python tests/tools/locks.py [NAME...] [--upgrade]` writes them again. It needs `uv` on the `PATH` and a package index.
Pins stay as they are unless `pyproject.toml` excludes them or `--upgrade` is given. A version younger than a week is
not taken: most malicious releases are removed within days.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "requirements"
COMMAND = "python tests/tools/locks.py"
AGE = "7 days"

LINE = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[\w.!+]+)(?: ; (?P<marker>[^\\]+))? \\")
HASH = re.compile(r"    --hash=sha256:(?P<digest>[0-9a-f]{64})(?: \\)?")


class Lock(NamedTuple):
    """What a lock file is made from."""

    use: str
    extras: tuple[str, ...] = ()
    project: bool = True
    """Whether the dependencies of bayplan are in it."""
    build: bool = False
    """Whether the requirements of the build are in it."""
    more: tuple[str, ...] = ()
    """Requirements that `pyproject.toml` does not have."""
    lowest: bool = False
    """Whether each requirement has the lowest version that its range allows, instead of the highest."""


EDITABLE = ("editables>=0.3,<1",)
"""What hatchling also needs for an installation in place."""

BINARY = ("cython>=3.1,<4", "setuptools>=80")
"""What makes PyYAML's C module from its source distribution."""

LOCKS: Mapping[str, Lock] = {
    "test": Lock("the tests", extras=("test",), build=True, more=EDITABLE),
    "image": Lock("the static binary and the image of the Argo CD sidecar"),
    "build": Lock("the builds of the wheel and the source distribution", project=False, build=True),
    "binary": Lock("the build of the static binary", project=False, build=True, more=BINARY),
    "docs": Lock("the site, and the tests with a browser (BAYPLAN_LONG=1)", extras=("docs", "browser")),
    "torchx": Lock("the tests with the real TorchX", extras=("torchx",), lowest=True),
    "lowest": Lock(
        "the tests of the lowest versions", extras=("test", "docs", "browser"), build=True, more=EDITABLE, lowest=True
    ),
    "release": Lock("the checks of a release", project=False, more=("check-wheel-contents>=0.6,<1", "twine>=6,<7")),
    "audit": Lock("pip-audit", project=False, more=("pip-audit>=2.9,<3",)),
}
"""The files of `requirements/` by name."""


class Pin(NamedTuple):
    """An entry of a lock file."""

    name: str
    """Normalized: small letters and hyphens."""
    version: str
    marker: str
    hashes: tuple[str, ...]
    """SHA-256 of each file of this version, in hexadecimal digits."""


def path(name: str) -> Path:
    """The file of a lock."""
    return FOLDER / f"{name}.txt"


def pins(name: str) -> list[Pin]:
    """The entries of a lock; any other line than a comment, an entry or a hash is an error."""
    found: list[Pin] = []
    for number, line in enumerate(path(name).read_text(encoding="utf-8").splitlines(), start=1):
        if match := LINE.fullmatch(line):
            found.append(Pin(match["name"], match["version"], match["marker"] or "", ()))
        elif match := HASH.fullmatch(line):
            found[-1] = found[-1]._replace(hashes=(*found[-1].hashes, match["digest"]))
        elif not line.lstrip().startswith("#"):
            raise ValueError(f"requirements/{name}.txt:{number}: not an entry with hashes: {line}")
    return found


def project() -> dict[str, Any]:
    """The content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(lock: Lock) -> Iterator[str]:
    """The requirements that a lock resolves, as `pyproject.toml` writes them."""
    content = project()
    if lock.build:
        yield from content["build-system"]["requires"]
    yield from lock.more
    if lock.project:
        yield from content["project"]["dependencies"]
    asked = list(lock.extras)
    for extra in asked:
        for each in content["project"]["optional-dependencies"][extra]:
            if own := re.fullmatch(r"bayplan\[(.*)\]", each):
                asked += own[1].split(",")
            else:
                yield each


def write(name: str, *options: str) -> None:
    """Write a lock file. Locks of highest versions agree with that of the tests."""
    lock = LOCKS[name]
    command = ["uv", "pip", "compile", "-", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--exclude-newer", AGE, "--custom-compile-command", COMMAND, "--output-file", str(path(name)), *options]
    for each in requirements(lock) if lock.lowest else ():  # uv would keep a pin that is no longer the lowest
        command += ["--upgrade-package", re.split(r"[^\w.-]", each)[0]]
    command += ["--resolution", "lowest-direct"] if lock.lowest else []
    command += ["--constraints", str(path("test"))] if name in ("image", "build", "binary", "docs", "release") else []
    asked = "".join(f"{each}\n" for each in requirements(lock))
    subprocess.run(command, cwd=ROOT, input=asked, stdout=subprocess.DEVNULL, encoding="utf-8", check=True)


if __name__ == "__main__":
    names = [each for each in sys.argv[1:] if not each.startswith("-")] or list(LOCKS)
    for each in names:
        write(each, *(option for option in sys.argv[1:] if option.startswith("-")))
