"""Edits of a YAML file that keep its comments and its order; of a JSON file that keep its order.

Rows of a topology come, change and go in the text itself (`patch`): thousands of them take ruamel.yaml seconds. The
rest is ruamel.yaml's, which is imported here and nowhere else. What is written is read again: only a text that says
exactly what was wanted is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.text.document import Document, read
from bayplan.text.edits import Edit, edited

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none")
"""Texts that a reader of YAML 1.1 takes for something else."""


def apply(document: Document, edits: Iterable[Edit]) -> Outcome[str]:
    """The text of a topology file with the edits. W499: there is no ruamel.yaml, or the file cannot be kept."""
    edits = tuple(edits)
    wanted = edited(document.data, edits)
    try:
        json.loads(document.text)
    except ValueError:
        return _patched(document, edits, wanted) or _yaml(document, edits, wanted)
    return Outcome(f"{json.dumps(wanted, indent=2, ensure_ascii=False)}\n")


def _patched(document: Document, edits: tuple[Edit, ...], wanted: Any) -> Outcome[str] | None:
    """The text with its lines changed; None where ruamel.yaml has to."""
    if any(edit.append for edit in edits):
        return None
    from bayplan.text import patch

    text = patch.edited(document.text, document.data, edits)
    return Outcome(text) if text is not None and _says(document.name, text, wanted) else None


def _says(name: str, text: str, wanted: Any) -> bool:
    """Whether the text is read as what was wanted."""
    again = read(name, text.encode("utf-8", "surrogatepass"), "topology").value or ()
    return len(again) == 1 and bool(again[0].data == wanted)


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
    if not _says(document.name, text, wanted):
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
    for edit in reversed([each for each in edits if not each.insert and not each.remove]):
        _edit(tree, edit)
    moving = [each for each in edits if each.insert or each.remove]
    for edit in sorted(moving, key=lambda edit: (edit.path[:-1], edit.path[-1], edit.remove))[::-1]:
        _shift(tree, edit)
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


def _shift(tree: Any, edit: Edit) -> None:
    """Takes an entry out, or puts one before it; the last ones first, so that the places of the others hold."""
    here = tree
    for step in edit.path[:-1]:
        here = here[step]
    if edit.remove:
        del here[edit.path[-1]]
    else:
        here.insert(edit.path[-1], _marked(edit.value))


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
