"""Plug-ins: formats, schedulers, kinds and pictures that the core does not know.

A plug-in is a package with a file `plugin.json`. The file says in a few rows what the plug-in adds. bayplan reads these
files, and imports a module of a plug-in only when a command needs it. The sections of a file:

    title        what the plug-in is, for messages
    workflows    formats of `bayplan check FILE`: name, module, title, marks, variables
    backends     schedulers: name -> module
    kinds        kinds of workloads: name -> module
    topologies   rows of `bayplan.topologies.Source`
    losses       the module with the `LOSSES` of these rows
    occupancy    the module that reads what already runs
    renders      the module that renders templates of workflows in a process of its own
    plans, clusters, differences   pictures: word after --format -> module
    schemas      JSON Schemas for users: word of `bayplan explain` -> name
    configurations   files beside workflows, which can become topologies: name (of the option and of --from), module,
                     help, value, key (in bayplan.yaml)

The plug-ins of bayplan are the folders beside this file. Another package announces a plug-in by an entry point of the
group `bayplan.plugins`; the value is the name of the package that has the `plugin.json`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from bayplan.core import package_data

GROUP = "bayplan.plugins"
"""The group of entry points."""

FILE = "plugin.json"


@cache
def descriptions() -> Mapping[str, Mapping[str, Any]]:
    """Package -> what its `plugin.json` says, by the names of the packages; those of other packages last."""
    folders = (name for name in package_data.names_beside("plugins") if "." not in name and name != "__pycache__")
    here = (name for name in folders if FILE in package_data.names_beside("plugins", name))
    packages = {f"{__name__}.{name}": json.loads(package_data.table("plugins", name, FILE)) for name in here}
    return {**packages, **dict(_announced())}


def _announced() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The plug-ins of other packages. Reading all metadata takes longer than most commands, so this looks first whether
    an installed package has the group at all."""
    if not any(_has_group(folder) for folder in sys.path):
        return
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    for point in sorted(entry_points(group=GROUP)):
        spec = find_spec(point.value)
        for folder in (spec.submodule_search_locations or () if spec else ())[:1]:
            with open(os.path.join(folder, FILE), encoding="utf-8") as file:
                yield point.value, json.load(file)


def _has_group(folder: str) -> bool:
    try:
        names = [name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(f"[{GROUP}]" in _text(os.path.join(folder, name, "entry_points.txt")) for name in names)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def modules(section: str) -> dict[str, str]:
    """Name -> the module of a section whose rows are names and modules, for all plug-ins."""
    return {
        name: f"{package}.{module}"
        for package, description in descriptions().items()
        for name, module in description.get(section, {}).items()
    }


def words(section: str) -> dict[str, str]:
    """The words of a section and their values, for all plug-ins."""
    return {
        word: value for description in descriptions().values() for word, value in description.get(section, {}).items()
    }


def rows(section: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a section whose rows have several fields, for all plug-ins, with the whole name of a `module`."""
    for package, description in descriptions().items():
        for row in description.get(section, ()):
            yield {**row, "module": f"{package}.{row['module']}"} if "module" in row else {**row, "package": package}


def loaded(section: str) -> Iterator[Any]:
    """The modules of a section that names one module, for all plug-ins."""
    for package, description in descriptions().items():
        if section in description:
            yield import_module(f"{package}.{description[section]}")


WAY = "install bayplan with all of its plug-ins"
"""What to do without a plug-in."""


@cache
def absent() -> Mapping[str, Mapping[str, Any]]:
    """The plug-ins of bayplan that are not there: their words, and for those with formats of workflows, what a file is
    and what it looks like."""
    known: Mapping[str, Mapping[str, Any]] = json.loads(package_data.table("plugins", "words.json"))
    return {name: row for name, row in known.items() if f"{__name__}.{name}" not in descriptions()}


def without(word: str) -> str:
    """Why bayplan does not know a word of an absent plug-in; empty if no plug-in has the word."""
    name = next((name for name, row in absent().items() if word in row["words"]), "")
    return f'"{word}" needs the plug-in "{name}", which is not installed' if name else ""


def unread(text: str) -> str:
    """Why bayplan does not read a file of an absent plug-in; empty if no plug-in has such files."""
    for name, row in absent().items():
        if "file" in row and re.search(row["file"], text, re.MULTILINE):
            return f'this file looks like {row["title"]}, which needs the plug-in "{name}"; it is not installed'
    return ""
