"""The workflow's section -> the rendered text, with the source map that leads back.

A file without Jinja stays as it is, also if it has runtime tokens. bayplan renders all others in a separate process.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from bayplan.plugin import (
    AT,
    KEY,
    Diagnostic,
    Outcome,
    Path,
    Source,
    SourceMap,
    did_you_mean,
    error,
    load,
    locate_all,
    warning,
)
from bayplan.plugins.osmo import sections as file_sections
from bayplan.plugins.osmo import tokens
from bayplan.plugins.osmo.sections import (
    MARKERS,
    TWICE,
    Section,
    Sections,
    Variables,
    identity,
    is_template,
    key_place,
)

# The variables of a template: those of `default-values`, overridden by those of the command line.


def read_variables(sections: Sections, subject: str, set_by_user: Mapping[str, Any]) -> Outcome[Variables]:
    """All variables.

    R123: the defaults are not a mapping. R110: a duplicate key. R112: a name that is not a string. R103 to R116:
    invalid YAML.
    """
    defaults = _defaults(sections.defaults, subject) if sections.defaults else Outcome[Variables]({})
    if defaults.value is None:
        return defaults
    return Outcome({**defaults.value, **set_by_user}, defaults.diagnostics)


def _defaults(section: Section, subject: str) -> Outcome[Variables]:
    loaded = load(section.padded, subject, TWICE)
    if loaded.value is None:
        return Outcome(None, loaded.diagnostics)
    route = key_place(section, subject)
    if len(loaded.value) > 1:
        wrong = error("R123", route, "default-values has a second YAML document", hint="remove the line `---`")
        return Outcome(None, (*loaded.diagnostics, wrong))
    value = (
        loaded.value[0].get("default-values", section.text) if isinstance(loaded.value[0], dict) else loaded.value[0]
    )
    if not value:  # OSMO ignores null, an empty list or string, false and 0
        return Outcome({}, loaded.diagnostics)
    if not isinstance(value, dict):
        hint = "write one indented line `name: value` for each variable"
        kind = "a list" if isinstance(value, list) else "a string" if isinstance(value, str) else f"the value {value}"
        message = f"default-values is {kind}; expected a mapping of names to values"
        return Outcome(None, (*loaded.diagnostics, error("R123", route, message, hint=hint)))
    names: dict[Path, Any] = {("default-values", str(key), KEY): key for key in value if not isinstance(key, str)}
    place = SourceMap(section.padded, identity)
    # Jinja accepts no variables at all if one name is not a string
    strange = tuple(file_sections.non_text_key_findings(names, place, subject))
    return Outcome(None if strange else value, (*loaded.diagnostics, *strange))


def origin(name: str, sections: Sections, set_by_user: Mapping[str, Any]) -> str:
    """The source of a variable's value, in words."""
    if name in set_by_user:
        return f'"{name}" is set by --set'
    path = ("default-values", name, KEY)
    text = sections.defaults.padded if sections.defaults else ""
    return f'"{name}" is set at line {locate_all(text, [(0, path)], loaded=True)[0, path].line}'


# Runtime tokens such as {{output}} look like Jinja, but OSMO replaces them when a pod runs.
#
# OSMO hides them from Jinja: it replaces each with a variable whose value is the token. It recognizes only the exact
# form without spaces (OSMO 6.4, src/utils/job/workflow.py, `TemplateSpec`).


class MaskedTemplate(NamedTuple):
    """A template without tokens, variable -> the token that it replaces, and the prefix of all these variables."""

    template: str
    tokens: Mapping[str, str]
    stem: str


def mask_tokens(text: str) -> MaskedTemplate:
    """Replaces each token with a variable of its own. The number of lines stays the same."""
    stem = _stem(text)
    names: dict[str, str] = {}

    def variable(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        name, line_feeds = names.setdefault(match[0], f"{stem}{len(names)}"), "\n" * match[0].count("\n")
        return f"{{{{{name}{line_feeds}}}}}"

    template = tokens.TEMPLATE_TOKEN.sub(variable, text)
    return MaskedTemplate(template, {name: token for token, name in names.items()}, stem)


def _stem(text: str) -> str:
    """A prefix of variables that is not in the text."""
    taken = set(re.findall(r"runtime_token([0-9]+)_", text))
    return next(f"runtime_token{number}_" for number in count() if str(number) not in taken)


class UnmaskedText(NamedTuple):
    """Text with its tokens restored: their offsets in it, and what maps offsets of Jinja's output to it."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]  # of their variables, in Jinja's output
    shifts: Sequence[int]  # of the text after each of them

    def offset(self, written: int) -> int:
        """The offset in the text of a character of Jinja's output."""
        behind = bisect_right(self.ends, written)
        return written + (self.shifts[behind - 1] if behind else 0)


def unmask_tokens(text: str, hidden: MaskedTemplate) -> UnmaskedText:
    """Restores the tokens whose variables Jinja did not replace: those in a raw block or a string."""
    starts: list[int] = []
    ends: list[int] = []
    shifts = [0]

    def token(match: re.Match[str]) -> str:
        replacement = hidden.tokens.get(match[1], match[0])
        starts.append(match.start() + shifts[-1])
        ends.append(match.end())
        shifts.append(shifts[-1] + len(replacement) - len(match[0]))
        return replacement

    shown = re.sub(rf"{{{{({hidden.stem}[0-9]+)\n*}}}}", token, text)
    return UnmaskedText(shown, starts, ends, shifts[1:])


def without_tokens(text: str) -> str:
    """The text with each token replaced by a NUL, which means nothing to Jinja."""
    return tokens.TEMPLATE_TOKEN.sub(lambda match: match[0] if match[1] is None else "\0", text)


def plain(text: str) -> bool:
    """Whether Jinja would only restore the tokens."""
    left = without_tokens(text)
    return not any(marker in left for marker in MARKERS) and "{\0" not in left


def render(text: str, sections: Sections, values: Variables, subject: str, source: Source) -> Outcome[SourceMap]:
    """The workflow's section with its source map. R126 to R127: Jinja cannot render it. A931: an unused variable."""
    section = sections.workflow
    if not is_template(text):
        return Outcome(SourceMap(section.padded, identity), _unused((), source))
    if plain(section.text):
        return Outcome(SourceMap(section.padded.removesuffix("\n"), identity), _unused((), source))
    if source.render is None:
        message = "this caller cannot render templates"
        return Outcome(None, (error("R127", key_place(section, subject), message),))
    from bayplan.plugins.osmo import template_origins

    hidden = mask_tokens(section.padded)
    variables = template_origins.pack({**values, **hidden.tokens})
    request = {"task": "render", "template": hidden.template, "variables": variables}
    reply = source.render(request)
    if "failure" in reply:
        reply = _with_column(reply, hidden)
        return Outcome(None, template_origins.explain_failures(reply, text, section, values, subject))
    written: str = reply["text"]
    shown = unmask_tokens(written, hidden)

    def trace(request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A second rendering. Its offsets are mapped to the text with restored tokens."""
        reply = source.render(request) if source.render else {}
        return {**reply, "pieces": [(shown.offset(at), number) for at, number in reply.get("pieces") or ()]}

    def value_origin(name: str) -> str:
        """Empty for names that the template itself defines."""
        return origin(name, sections, source.variables) if name in values else ""

    traced = {**request, "task": "trace", "clean": written}
    rendered = SourceMap(shown.text, template_origins.back(text, shown.text, trace, traced, value_origin))
    raw = template_origins.raw_block_findings(rendered, shown.starts, subject)
    return Outcome(rendered, (*_unused(reply["names"], source), *raw))


def _with_column(reply: Mapping[str, Any], hidden: MaskedTemplate) -> Mapping[str, Any]:
    """The reply with the column of Jinja's error instead of its offset in the template without tokens."""
    if "offset" not in reply:
        return reply
    before = unmask_tokens(hidden.template[: reply["offset"]], hidden).text
    return {**reply, "column": len(before) - before.rfind("\n")}


def _unused(names: Any, source: Source) -> tuple[Diagnostic, ...]:
    """Variables of the command line that no template uses. They are likely misspelled."""
    unused = [name for name in source.variables if name not in names]
    message = 'no template uses the variable "{}"'.format
    return tuple(warning("A931", ("argument", "--set"), message(n), hint=did_you_mean(n, names)) for n in unused)


# `localpath`: the text of a file beside the workflow becomes the contents of a file in the pod.
#
# Source: OSMO 6.4, src/cli/workflow.py, `load_local_files`. OSMO's client does this; the service never sees the key.

ReadFile = Callable[[str], Outcome[bytes]]


class LocalFiles(NamedTuple):
    """The data with contents for every localpath, and path of the contents -> path of the localpath."""

    data: dict[str, Any]
    moved: Mapping[Path, Path]


def inline_local_files(
    data: dict[str, Any], source_map: SourceMap, subject: str, read_file: ReadFile | None
) -> Outcome[LocalFiles]:
    """R134: an unusable file, or contents too. R134: a file elsewhere. One run reports all of them."""
    entries = list(_entries(data))
    if not entries:
        return Outcome(LocalFiles(data, {}))
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
    spans = file_sections.spans(source_map, [path for path, _ in wrong])
    findings = tuple(each._replace(route=(subject, AT, *span)) for (_, each), span in zip(wrong, spans, strict=True))
    moved = {(*path, "contents"): (*path, "localpath") for path in filled}
    return Outcome(LocalFiles(_with(data, (), filled), moved), findings)


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
    """The mappings in a list. The schema reports other entries."""
    if isinstance(value, list):
        yield from ((number, item) for number, item in enumerate(value) if isinstance(item, dict))


def _text(entry: Mapping[str, Any], read_file: ReadFile | None, texts: dict[str, Outcome[str]]) -> Outcome[str]:
    """The text of the file at a localpath. `texts` caches it, so that each file is read once."""
    name = entry["localpath"]
    if "contents" in entry:
        return _error("R134", "the file has both `contents` and `localpath`", "remove one of the two")
    if not isinstance(name, str) or not name:
        return _error("R134", "`localpath` is not the name of a file", "write its path from the workflow's folder")
    if read_file is None:
        return _error("R134", f'"{name}" cannot be read: this caller has no folder', "")
    if name not in texts:
        texts[name] = _read(name, read_file)
    return texts[name]


def _read(named: str, read_file: ReadFile) -> Outcome[str]:
    raw = read_file(named)
    if raw.value is None:
        return Outcome(None, raw.diagnostics)
    try:
        text = raw.value.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = raw.value[problem.start]
        hint = "store it where the task can fetch it: OSMO copies UTF-8 files only"
        return _error("R134", f'"{named}" is not UTF-8: byte {problem.start + 1} is 0x{byte:02x}', hint)
    return Outcome(text.replace("\r\n", "\n").replace("\r", "\n"))


def _error(code: str, message: str, hint: str) -> Outcome[str]:
    return Outcome(None, (error(code, (), message, hint=hint),))


def _with(data: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    """A copy of the data at that path, with other values at some paths."""
    if path in values:
        return values[path]
    if isinstance(data, list):
        return [_with(item, (*path, number), values) for number, item in enumerate(data)]
    if isinstance(data, dict):
        return {key: _with(item, (*path, key), values) for key, item in data.items()}
    return data
