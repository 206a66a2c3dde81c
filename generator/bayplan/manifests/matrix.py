"""The matrix of a gang whose copies are pods of one Indexed Job: a table in a ConfigMap, and a shell that reads it.

Kubernetes cannot give the pods of a Job different variables. So a shell sets them by the pod's index, and everything
that refers to them, before it runs the command. It changes no other text: what it cannot write without quotes are its
own arguments, in which Kubernetes expands `$(NAME)` as always.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.kube.kinds import INDEX_VARIABLE, gang_labels
from bayplan.kube.shell import PLAIN, table_of_rows
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.plan import GANG_COUNT, GANG_INDEX, GangPlan, Plan

VOLUME = "bayplan-matrix"
FOLDER, FILE = "/etc/matrix", "rows.sh"
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")
_EXPORTABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def config_map(plan: Plan, gang: GangPlan) -> Manifest:
    """The table. Its name has a dot, which no name of a gang or podSet has."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _name(gang), "labels": gang_labels(plan, gang)},
        "data": {FILE: table_of_rows(INDEX_VARIABLE, gang.gang.rows)},
    }


def _name(gang: GangPlan) -> str:
    return f"{gang.name}.matrix"


def mounted(gang: GangPlan) -> PodParts:
    """The table in a pod."""
    return PodParts(
        volumes=({"name": VOLUME, "configMap": {"name": _name(gang)}},),
        mounts=({"name": VOLUME, "mountPath": FOLDER},),
    )


class Started(NamedTuple):
    """The command that sets the variables, and the entries that Kubernetes still sets."""

    command: tuple[str, ...]
    env: tuple[Mapping[str, Any], ...]


def started(words: Sequence[str], env: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Started:
    """The words of a command behind a shell. Variables whose values refer to a column are the shell's too."""
    own, arguments = set(columns), list[str]()
    known = {GANG_INDEX, GANG_COUNT, *columns}  # what the shell has, and what it need not leave to Kubernetes
    kept: list[Mapping[str, Any]] = []
    lines, unexportable = [f". {FOLDER}/{FILE}"], list[str]()
    for entry in env:
        name, value = entry["name"], entry.get("value")
        if not (isinstance(value, str) and any(is_name and part in own for is_name, part in _parts(value, own))):
            kept.append(entry)
        elif _EXPORTABLE.fullmatch(name):
            lines.append(f"export {name}={_word(value, known, arguments)}")
            own.add(name)
            known.add(name)
        else:
            unexportable.append(_word(f"{name}={value}", known, arguments))
    several = ["env", *unexportable] if unexportable else []
    lines.append(" ".join(["exec", *several, *(_word(word, known, arguments) for word in words)]))
    return Started(("sh", "-c", "\n".join(lines), *(("sh", *arguments) if arguments else ())), tuple(kept))


def _word(text: str, known: Container[str], arguments: list[str]) -> str:
    """A string as one word of a shell. Parts that need quotes become arguments of the shell."""
    pieces = []
    for is_name, part in _parts(text, known):
        if is_name:
            pieces.append(f'"${{{part}}}"')
        elif PLAIN.fullmatch(part):
            pieces.append(part)
        elif part:
            arguments.append(part)
            pieces.append(f'"${{{len(arguments)}}}"')
    return "".join(pieces) or "''"


def _parts(text: str, own: Container[str]) -> Iterator[tuple[bool, str]]:
    """The references to these variables in a string, and what is between them."""
    start = 0
    for reference in _REFERENCE.finditer(text):
        if reference[1] is not None and reference[1] in own:
            yield False, text[start : reference.start()]
            yield True, reference[1]
            start = reference.end()
    yield False, text[start:]
