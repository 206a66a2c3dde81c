"""`localpath`: the text of a file beside the workflow becomes the contents of one in the pod.

Source: OSMO 6.4, src/cli/workflow.py, `load_local_files`; the client does it, the service never sees the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import KEY, Diagnostic, Outcome, error
from bayplan.text.document import Path, SourceMap
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.text import data as places

ReadFile = Callable[[str], Outcome[bytes]]


class Filled(NamedTuple):
    """The data with contents for every localpath, and path of contents -> path of the localpath."""

    data: dict[str, Any]
    moved: Mapping[Path, Path]


def fill(data: dict[str, Any], source_map: SourceMap, subject: str, read_file: ReadFile | None) -> Outcome[Filled]:
    """R134 no such file, R135 one elsewhere, R136 contents as well, R137 no text; all of them in one run."""
    entries = list(_entries(data))
    if not entries:
        return Outcome(Filled(data, {}))
    texts: dict[str, Outcome[str]] = {}
    filled: dict[Path, Mapping[str, Any]] = {}
    wrong: list[tuple[Path, Diagnostic]] = []
    for path, entry in entries:
        text = _text(entry, read_file, texts)
        if text.value is None:
            at = (*path, "localpath", KEY) if "contents" in entry else (*path, "localpath")
            wrong += [(at, each) for each in text.diagnostics]
            continue
        kept = {key: value for key, value in entry.items() if key != "localpath"}
        filled[path] = {**kept, "contents": text.value}
    spans = places.spans(source_map, [path for path, _ in wrong])
    found = tuple(
        each._replace(route=places.route(subject, span)) for (_, each), span in zip(wrong, spans, strict=True)
    )
    moved = {(*path, "contents"): (*path, "localpath") for path in filled}
    return Outcome(Filled(_with(data, (), filled), moved), found)


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every entry of `files` with a localpath, of bare tasks and of those in groups."""
    for path, task in _tasks(data):
        for number, entry in _items(task.get("files")):
            if "localpath" in entry:
                yield (*path, "files", number), entry


def _tasks(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    flow = data.get("workflow")
    if not isinstance(flow, dict):
        return
    for number, task in _items(flow.get("tasks")):
        yield ("workflow", "tasks", number), task
    for group, each in _items(flow.get("groups")):
        for number, task in _items(each.get("tasks")):
            yield ("workflow", "groups", group, "tasks", number), task


def _items(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings in a list; what else stands there is for the schema to say."""
    if isinstance(value, list):
        yield from ((number, item) for number, item in enumerate(value) if isinstance(item, dict))


def _text(entry: Mapping[str, Any], read_file: ReadFile | None, known: dict[str, Outcome[str]]) -> Outcome[str]:
    """The text that a localpath leads to. `known`: those that were read; a file is read once."""
    named = entry["localpath"]
    if "contents" in entry:
        return _error("R136", "a file has either contents or a localpath, and this one has both", "remove one of them")
    if not isinstance(named, str) or not named:
        return _error("R134", "localpath must be the name of a file", "write its path from the workflow's folder")
    if read_file is None:
        return _error("R134", f'"{named}" cannot be read: no folder is known', "")
    if named not in known:
        known[named] = _read(named, read_file)
    return known[named]


def _read(named: str, read_file: ReadFile) -> Outcome[str]:
    raw = read_file(named)
    if raw.value is None:
        return Outcome(None, raw.diagnostics)
    try:
        text = raw.value.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = raw.value[problem.start]
        hint = "OSMO brings texts only; put other files where the task can fetch them"
        return _error("R137", f'"{named}" is no UTF-8 text: byte {problem.start + 1} is 0x{byte:02x}', hint)
    return Outcome(text.replace("\r\n", "\n").replace("\r", "\n"))


def _error(code: str, message: str, hint: str) -> Outcome[str]:
    return Outcome(None, (error(code, (), message, hint=hint),))


def _with(data: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    """The data, which stand at that path, with other values at some paths; nothing that exists is changed."""
    if path in values:
        return values[path]
    if isinstance(data, list):
        return [_with(item, (*path, number), values) for number, item in enumerate(data)]
    if isinstance(data, dict):
        return {key: _with(item, (*path, key), values) for key, item in data.items()}
    return data
