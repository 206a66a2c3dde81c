"""Edits of a YAML file that keep its comments and its order; of a JSON file that keep its order.

ruamel.yaml is imported here and nowhere else, and what it writes is read again: only a text that says exactly what was
wanted is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.document import Document, read
from bayplan.topologies.edits import Edit, edited

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none")
"""Texts that a reader of YAML 1.1 takes for something else."""


def apply(document: Document, edits: Iterable[Edit]) -> Outcome[str]:
    """The text of a topology file with the edits. W499: there is no ruamel.yaml, or the file cannot be kept."""
    wanted = edited(document.data, edits)
    try:
        json.loads(document.text)
    except ValueError:
        return _yaml(document, tuple(edits), wanted)
    return Outcome(f"{json.dumps(wanted, indent=2, ensure_ascii=False)}\n")


def _yaml(document: Document, edits: tuple[Edit, ...], wanted: Any) -> Outcome[str]:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        return _failed("the package ruamel.yaml is not installed", "install bayplan[edit], or make the changes by hand")
    try:
        text = _written(YAML(), document.text, edits)
    except (YAMLError, ValueError, TypeError, KeyError) as problem:
        why = str(problem).partition("\n")[0]
        return _failed(f"ruamel.yaml cannot change the file: {why}", "make the changes by hand")
    again = read(document.name, text.encode("utf-8", "surrogatepass"), "topology").value or ()
    if len(again) != 1 or again[0].data != wanted:
        return _failed("the file cannot be changed without changing its meaning", "make the changes by hand")
    return Outcome(text)


def _failed(message: str, hint: str) -> Outcome[str]:
    found: Diagnostic = error("W499", ("topology",), message, hint=hint)
    return Outcome(None, (found,))


def _written(yaml: Any, text: str, edits: tuple[Edit, ...]) -> str:
    from io import StringIO

    yaml.preserve_quotes = True
    yaml.width = 2**16  # long lines stay lines
    step, offset = _indents(text)
    yaml.indent(mapping=2, sequence=step, offset=offset)
    tree = yaml.load(text)
    for edit in reversed(edits):
        _edit(tree, edit)
    out = StringIO()
    yaml.dump(tree, out)
    return out.getvalue()


def _indents(text: str) -> tuple[int, int]:
    """How far lists stand in below their key: what ruamel calls sequence and offset."""
    found = re.search(r"^( *)(?:- )?[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n( *)- ", text, re.MULTILINE)
    inner = len(found[2]) - len(found[1]) if found else 0
    return (inner + 2, inner) if inner > 0 else (2, 0)


def _edit(tree: Any, edit: Edit) -> None:
    """In block style new keys come first: what comes last would stand behind the comments that follow."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    here = tree
    for step in edit.path[:-1]:
        if isinstance(step, str) and not here.get(step):
            here.pop(step, None)
            _put(here, step, CommentedMap())
        here = here[step]
    last = edit.path[-1]
    if not edit.append:
        _put(here, last, _marked(edit.value))
        return
    if not here.get(last):
        here.pop(last, None)
        _put(here, last, CommentedSeq())
    for place, value in enumerate(edit.value):
        here[last].insert(place, _marked(value))


def _put(mapping: Any, key: str | int, value: Any) -> None:
    mapping.insert(len(mapping) if mapping.fa.flow_style() else 0, key, value)


def _marked(value: Any) -> Any:
    """The value with quotes where it needs them."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, dict):
        return {key: _marked(each) for key, each in value.items()}
    if isinstance(value, str) and not (PLAIN.fullmatch(value) and value.lower() not in WORDS):
        return DoubleQuotedScalarString(value)
    return value
