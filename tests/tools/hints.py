"""Follows the hints of cases: applies the change that a hint names to the case's input, and runs the case again.

A hint is a list of ways, of which each must mend what it is about. A way is a list of steps. This module knows the
steps below. For other hints `tests/hints/LETTER.yaml` describes the change that a person makes.
"""

from __future__ import annotations

import copy
import json
import re
import shlex
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tools import cases
from tools.data import parse, parse_all
from tools.effort import LONG
from tools.run import ROOT, bayplan

QUOTED = re.compile(r'^(?:did you mean|write|use) "([^"]+)"\??$')
REPLICAS = re.compile(r'^use (\d+) replicas? of (podSet|group) "([^"]+)" instead of (\d+)$')
SIZE = re.compile(r'^set `size: (\d+)` on group "([^"]+)" instead of (\d+)$')
LEVEL = re.compile(r'^require "([^"]+)" instead of "([^"]+)"$')
DROP = re.compile(r"^drop `(required|separate): ([^`]+)`$")
GROUP = re.compile(r"^write a group with `size: (\d+)` and `placement: {required: (\w+)}` for the podSet(?:, and .*)?$")
STEPS = "set|remove|use|add|write|claim|move|give|label|let|raise|put"
REST = rf"(?: or (?:less|more))?(?:[,;:]? (?!and |from |.*(?:, |\band )(?:{STEPS})\b).*)?"
"""What may follow a step: a reason or a condition, but no second step."""

FIELD = re.compile(rf"^(?:set|add(?: it)?|write|use|state it in the topology file:)[:]? `([^`]+)`{REST}$")
REMOVE = re.compile(rf"^remove `([\w.]+)`{REST}$")
PART = "field|key|annotation|label|level|tag|line|placement|constraint|variable|alias|taint|quotes|space|claim|mapping"
LEVEL_GONE = "remove the level and its part of each path"
IT = re.compile(rf"^remove (?:it|(?:the|this) (?:{PART})){REST}$")
RUN = re.compile(r"^(?:run|print this workflow in the native format with) `bayplan ([^`]+)`$")
PASS = re.compile(r"^pass (--together|--alone)(?: instead of (--together))?\b")
QUOTES = "put it in quotes"
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\.\.\.|\.yaml|[<>]")
ELSEWHERE = re.compile(
    r"` (?:in|to) (?:a policy|the plugin's|the Coscheduling|volcano|both)|controller-manager|Kueue's"
)
"""Fields of files that are not part of a case."""

BETWEEN = re.compile(r",? or (?=(?:use|set|remove|require|run|add|write|drop|put|pass) )")


class Found(NamedTuple):
    """A finding of a case, as JSON."""

    case: str
    number: int
    data: dict[str, Any]

    @property
    def name(self) -> str:
        """`S201-a: set `x``."""
        return f"{self.data['code']}: {self.data['hint']}"


class Verdict(NamedTuple):
    """What followed a hint. `wrong`: empty if each way that can be followed mended the finding."""

    found: Found
    ways: int
    wrong: str = ""


def chosen(kind: str) -> bool:
    """Whether the tests follow this kind of hint: one in five kinds by default, the same in every run."""
    return LONG or zlib.crc32(kind.encode()) % 5 == 0


def ways(hint: str) -> list[str]:
    """The alternatives of a hint."""
    return [each.strip() for each in BETWEEN.split(hint)]


def known(way: str) -> bool:
    """Whether `follow` can take this way."""
    if RUN.match(way):
        return not PLACEHOLDER.search(RUN.match(way)[1])  # type: ignore[index]
    if FIELD.match(way):
        text = FIELD.match(way)[1]  # type: ignore[index]
        return ": " in text and text[:2] != "- " and not PLACEHOLDER.search(text) and not ELSEWHERE.search(way)
    patterns = (QUOTED, REPLICAS, SIZE, LEVEL, DROP, GROUP, REMOVE, IT, PASS)
    return way == QUOTES or way.startswith(LEVEL_GONE) or any(pattern.match(way) for pattern in patterns)


FINDING = re.compile(r"(?:^|: )(error|warning|info)\[(\w+)\]: (.*)$")


@cache
def said(case: str) -> list[dict[str, Any]]:
    """The findings of a case by its golden file, which other tests compare with what the case prints."""
    text = (ROOT / "golden" / "diagnostics" / f"{case}.txt").read_text(encoding="utf-8")
    if (start := text.find('{\n  "diagnostics"')) >= 0:
        report = json.JSONDecoder().raw_decode(text[start:])[0]["diagnostics"]
        return [{**each, "hint": each["hint"] or ""} for each in report]
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if match := FINDING.search(line):
            found.append({"severity": match[1], "code": match[2], "message": match[3], "hint": ""})
        elif line.startswith("  hint: ") and found:
            found[-1]["hint"] = line.removeprefix("  hint: ")
    return found


ENOUGH = 2
"""Cases in which a kind of hint is followed."""


DESCRIBED = ROOT / "tests" / "hints"
"""Changes for hints that `known` does not take. A file is case -> its hints -> a list of ways, each with its change.

A change maps a file of the case, `stdin` or `command` to `[old, new]`, or to several such pairs. `old` occurs once.
`null` as `old` writes a new file, and `null` as `new` removes it. `run` is a command that the hint names, and replaces
that of the case. A string instead of the list says why a test cannot follow the hint: the change is one of the cluster.
"""


@cache
def described(file: str) -> dict[str, dict[str, list[dict[str, Any]] | str]]:
    """The changes that `tests/hints/FILE.yaml` describes."""
    path = DESCRIBED / f"{file}.yaml"
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or {} if path.exists() else {}


def judge_described(file: str) -> dict[str, str]:
    """Case and kind of hint -> why the described change does not mend the finding."""
    wrong: dict[str, str] = {}
    for case, hints in described(file).items():
        followed = {kind: ways for kind, ways in hints.items() if not isinstance(ways, str)}
        if case not in cases.NAMES:
            wrong[case] = "there is no such case"
            continue
        before = said(case)
        found = {pattern(data["code"], data["hint"] or ""): Found(case, 0, data) for data in reversed(before)}
        for kind in hints:
            if kind not in found:
                wrong[f"{case} {kind}"] = "the case has no such hint"
        for kind, ways in followed.items():
            if not chosen(kind) and kind in found:
                continue
            for number, way in enumerate(ways if kind in found else ()):
                with tempfile.TemporaryDirectory() as home:
                    why = _described_way(Sandbox(case, Path(home)), way, found[kind], before)
                if why:
                    wrong[f"{case} {kind} [{number}]"] = why
    return wrong


def _described_way(box: Sandbox, way: dict[str, Any], found: Found, before: list[dict[str, Any]]) -> str:
    """Why a described way does not mend the finding."""
    asked: list[str] = []
    for target, change in way.items():
        if target == "run":
            asked = shlex.split(change)
            continue
        for old, new in change if isinstance(change[0], list) else [change]:
            if why := _replace(box, target, old, new):
                return why
    after = box.run(asked)
    if asked and (errors := _errors(after)):
        return f"{errors[0]['code']}: {errors[0]['message']}"
    return _new(found, before, after)


def _replace(box: Sandbox, target: str, old: str | None, new: str | None) -> str:
    """Changes a file, standard input or the command line of a case. Returns why it cannot."""
    file = "<stdin>" if target == "stdin" else target
    if target == "command":
        text: str | None = shlex.join(box.words)
    elif target == "stdin" and old is None:
        box.stdin = new or ""
        return ""
    elif old is None or new is None:
        path = box.path(file) or box.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink() if new is None else path.write_text(new, encoding="utf-8")
        if new and new.startswith("#!"):
            path.chmod(0o755)
        return ""
    else:
        text = box.text(file)
    if text is None or old is None or new is None or text.count(old) != 1:
        return f"{target} has {old!r} {0 if text is None else text.count(old or '')} times, instead of once"
    if target == "command":
        box.words = shlex.split(text.replace(old, new))
    else:
        box.write(file, text.replace(old, new))
    return ""


def judge_all() -> Iterator[Verdict]:
    """Follows every kind of hint in the first cases that have it."""
    done: Counter[str] = Counter()
    for case in cases.NAMES:
        yield from judge(case, done)


def judge(case: str, done: Counter[str]) -> Iterator[Verdict]:
    """Follows each hint of a case. `done` counts the kinds of hints that were followed."""
    kinds = {pattern(each["code"], each["hint"]) for each in said(case) if any(map(known, ways(each["hint"])))}
    kinds = set(filter(chosen, kinds))
    if all(done[kind] >= ENOUGH for kind in kinds):
        return
    with tempfile.TemporaryDirectory() as home:
        before = Sandbox(case, Path(home) / "before").run()
    seen: set[str] = set()
    for number, data in enumerate(before):
        hint = data["hint"] or ""
        found = Found(case, number, data)
        followed = [way for way in ways(hint) if known(way)]
        kind = pattern(data["code"], hint)
        if kind not in kinds or not followed or found.name in seen or done[kind] >= ENOUGH:
            continue
        seen.add(found.name)
        done[kind] += 1
        wrong = [why for way in followed if (why := _followed(found, way, before))]
        yield Verdict(found, len(followed), "; ".join(wrong))


def _followed(found: Found, way: str, before: list[dict[str, Any]]) -> str:
    """Why a way does not mend the finding; empty if it does. Of several places for a field, the first that helps."""
    reasons: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        for number, change in zip(range(MOST), _changes(found, way, Path(home) / "plain"), strict=False):
            box = Sandbox(found.case, Path(home) / str(number))
            after = change(box)
            reasons.append(_new(found, before, box.run() if after is None or _errors(after) else after))
            if not reasons[-1]:
                return ""
    return f"{way}: {reasons[0] if reasons else NO_PLACE}"


READING = "RS"
"""Letters of codes of files that cannot be read. Such a file has no other findings yet, and most cases are minimal."""

MOST = 40
"""The most places that are tried for one field."""

NO_PLACE = "there is no place for it"


def _errors(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in findings if each["severity"] == "error"]


def _new(found: Found, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """What is still wrong, or newly wrong, after a change."""
    code, message = found.data["code"], found.data["message"]
    counts = [Counter(each["code"] for each in findings) for findings in (before, after)]
    if counts[1][code] >= counts[0][code] and any((e["code"], e["message"]) == (code, message) for e in after):
        return f"{code} is still reported"
    errors = {each["code"] for each in before if each["severity"] == "error"} | {code}
    later = "RS" if code[0] == "S" else "R"
    if code[0] in READING:
        errors |= {each["code"] for each in after if each["code"][0] not in later}
    new = [each for each in after if each["severity"] == "error" and each["code"] not in errors]
    again = [each for each in after if each["code"] == code and each["severity"] == "error"]
    if counts[1][code] >= counts[0][code] and again:
        return f"{code} again: {again[0]['message']}"
    return f"{new[0]['code']}: {new[0]['message']}" if new else ""


class Sandbox:
    """A copy of a case, beside a copy of the examples if a change concerns one of them."""

    def __init__(self, case: str, home: Path) -> None:
        self.case, self.home = case, home
        self.folder = home / "tests" / "cases" / case
        shutil.copytree(cases.CASES / case, self.folder, symlinks=True)
        (home / "examples").symlink_to(ROOT / "examples")
        self.words = cases.words(case)
        given = self.folder / "stdin"
        self.stdin = given.read_bytes().decode("utf-8", "surrogateescape") if given.exists() else ""

    def path(self, file: str) -> Path | None:
        """The file of a finding, which may be changed. None: it is none of the case's."""
        path = self.folder / file
        example = file.partition("examples/")[2].partition("/")[0]
        if example and (self.home / "examples").is_symlink():
            (self.home / "examples").unlink()
            (self.home / "examples").mkdir()
            for each in (ROOT / "examples").iterdir():
                (self.home / "examples" / each.name).symlink_to(each)
        if example and (self.home / "examples" / example).is_symlink():
            (self.home / "examples" / example).unlink()
            shutil.copytree(ROOT / "examples" / example, self.home / "examples" / example)
        return path if path.is_file() else None

    def text(self, file: str) -> str | None:
        """The text of a file or of standard input."""
        if file == "<stdin>":
            return self.stdin
        path = self.path(file)
        return path.read_text(encoding="utf-8") if path else None

    def write(self, file: str, text: str) -> None:
        """Changes it."""
        if file == "<stdin>":
            self.stdin = text
        elif path := self.path(file):
            path.write_text(text, encoding="utf-8")

    def replace_words(self, old: str, new: str) -> None:
        """Changes the command line."""
        self.words = [each.replace(old, new) for each in self.words]

    def run(self, asked: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The findings of the case's command, or of another command."""
        words = [*(asked or self.words), "--diagnostics", "json"]
        env = {"XDG_STATE_HOME": str(self.home), "KUSTOMIZE_PLUGIN_HOME": "plugins", "PATH": "bin:/bin:/usr/bin"}
        done = bayplan(*words, cwd=self.folder, env=env, stdin=self.stdin)
        for stream in (done.stderr, done.stdout):
            start = stream.find('{\n  "diagnostics"')
            if start >= 0:
                return list(json.JSONDecoder().raw_decode(stream[start:])[0]["diagnostics"])
        if done.returncode:
            return [{"code": "", "severity": "error", "message": done.stderr.strip()[-300:], "hint": ""}]
        return []


def _changes(found: Found, way: str, home: Path) -> Iterator[Any]:
    """The changes that a person would try for this way, the most likely first."""
    data, case = found.data, found.case
    if match := RUN.match(way):
        words = shlex.split(match[1])
        yield lambda box: box.run(words)
        return
    if match := PASS.match(way):
        words = [*(word for word in cases.words(case) if word != match[2]), match[1]]
        yield lambda box: box.run(words)
        return
    said = [word for word in re.findall(r'"([^"]+)"', data["message"]) if len(word) > 1]
    match = QUOTED.match(way)
    if not data["file"] or not data["line"]:
        for word in said if match else ():
            yield lambda box, word=word: box.replace_words(word, match[1])
        return
    text = Sandbox(case, home).text(data["file"])
    if text is None:
        return
    if way == QUOTES or match:
        line = text.split("\n")[data["line"] - 1]
        old = line[data["column"] - 1 : data["endColumn"] - 1]
        new = match[1] if match else json.dumps(old.strip("\"'"))
        yield lambda box: box.write(data["file"], _spliced(text, data, new))
        for word in said if match else ():
            yield lambda box, word=word: box.replace_words(word, match[1])
            swapped = line.replace(word, new, 1)
            yield lambda box, swapped=swapped: box.write(data["file"], _with_line(text, data["line"], swapped))
    elif IT.match(way) and ("the line" in way or not _parsed(text)):
        yield lambda box: box.write(data["file"], _with_line(text, data["line"], ""))
        yield lambda box: box.write(data["file"], _spliced(text, data, ""))
    documents = _parsed(text)
    try:
        place = _place(text, data) if documents else None
    except RecursionError:  # an alias inside its own anchor
        return
    for edited in _edits(documents, place, way) if documents and place else ():
        yield lambda box, edited=edited: box.write(data["file"], _dumped(data["file"], edited))
    if not any(isinstance(each, dict) for each in documents):
        return
    for file in sorted({word for word in Sandbox(case, home / "b").words if word.endswith(".yaml")} - {data["file"]}):
        other = _parsed(Sandbox(case, home / file.replace("/", "-")).text(file) or "")
        for edited in _edits(other, (0,), way) if other else ():
            yield lambda box, edited=edited, file=file: box.write(file, _dumped(file, edited))


def _parsed(text: str) -> list[Any]:
    """The documents of a text; none if it is not plain YAML."""
    try:
        return list(parse_all(text))
    except (yaml.YAMLError, ValueError, RecursionError):
        return []


def _dumped(file: str, documents: list[Any]) -> str:
    return json.dumps(documents[0]) if file.endswith(".json") else yaml.safe_dump_all(documents)


def _with_line(text: str, number: int, line: str) -> str:
    lines = text.split("\n")
    lines[number - 1] = line
    return "\n".join(lines)


def _spliced(text: str, data: dict[str, Any], new: str) -> str:
    """The text with something else at the place of the finding."""
    lines = text.split("\n")
    line = lines[data["line"] - 1]
    old = line[data["column"] - 1 : data["endColumn"] - 1]
    quote = old[:1] if old[:1] in "\"'" and old[:1] != new[:1] and old[-1:] == old[:1] else ""
    lines[data["line"] - 1] = line[: data["column"] - 1] + f"{quote}{new}{quote}" + line[data["endColumn"] - 1 :]
    return "\n".join(lines)


Path_ = tuple[Any, ...]


def _place(text: str, data: dict[str, Any]) -> Path_ | None:
    """The path of the finding's node in the documents; the smallest node that begins there."""
    start = (data["line"] - 1, data["column"] - 1)
    best: list[tuple[int, Path_]] = []

    def visit(node: yaml.Node, path: Path_) -> None:
        mark = node.start_mark
        if (mark.line, mark.column) == start:
            same_end = (node.end_mark.line + 1, node.end_mark.column + 1) == (data["endLine"], data["endColumn"])
            best.append((0 if same_end else 1, path))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if (key.start_mark.line, key.start_mark.column) == start:
                    ends = (key.end_mark.line + 1, key.end_mark.column + 1) == (data["endLine"], data["endColumn"])
                    best.append((0 if ends else 2, (*path, key.value)))
                visit(value, (*path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for number, each in enumerate(node.value):
                visit(each, (*path, number))

    for number, document in enumerate(yaml.compose_all(text)):
        if document is not None:
            visit(document, (number,))
    return min(best, key=lambda each: (each[0], -len(each[1])))[1] if best else (0,)


def _edits(documents: list[Any], place: Path_, way: str) -> Iterator[list[Any]]:
    """The documents after the change, for each place where it may be meant."""
    ancestors = [place[:end] for end in range(len(place), 0, -1)]
    everywhere = [*ancestors, *(path for path in _mappings(documents) if path not in ancestors)]
    if way.startswith(LEVEL_GONE):
        for path in ancestors:
            if path[-2:-1] == ("levels",):
                yield from _without_level(documents, path)
                return
    elif match := QUOTED.match(way):
        owner, last = _get(documents, place[:-1]), place[-1]
        if isinstance(owner, dict) and last in owner:
            (edited,) = _without(documents, place)
            _get(edited, place[:-1])[match[1]] = owner[last]
            yield edited
    elif match := REMOVE.match(way):
        keys = match[1].split(".")
        for path in everywhere:
            yield from _without(documents, (*path, *keys))
    elif way.startswith("remove the placement"):
        yield [_without_placements(each) for each in copy.deepcopy(documents)]
    elif IT.match(way):
        for path in ancestors[:-1]:
            yield from _without(documents, path)
    elif match := REPLICAS.match(way):
        yield from _counts(documents, match[2], match[3], "replicas", int(match[4]), int(match[1]))
    elif match := SIZE.match(way):
        yield from _counts(documents, "group", match[2], "size", int(match[3]), int(match[1]))
    elif match := LEVEL.match(way):
        yield from _levels(documents, place, match[2], match[1])
    elif match := DROP.match(way):
        if match[1] == "separate":
            for path in everywhere:
                yield from _without(documents, (*path, "separate"))
        yield from _levels(documents, place, match[2], "")
    elif match := GROUP.match(way):
        yield from _grouped(documents, int(match[1]), match[2])
    elif match := FIELD.match(way):
        fragment = parse(match[1])
        for path in everywhere if isinstance(fragment, dict) and "computeDomain" in fragment else ():
            annotations = _get(edited := copy.deepcopy(documents), path)
            if isinstance(annotations, dict) and "bayplan.dev/compute-domain" in annotations:
                annotations["bayplan.dev/compute-domain"] = fragment["computeDomain"]
                yield edited
        for path in everywhere:
            edited = copy.deepcopy(documents)
            target = _get(edited, path)
            if isinstance(target, dict) and isinstance(fragment, dict):
                _merge(target, fragment)
                yield edited


def _get(data: Any, path: Path_) -> Any:
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _merge(target: dict[str, Any], fragment: dict[str, Any]) -> None:
    """Sets the fields; `a.b` is a field of a field."""
    for key, value in fragment.items():
        *above, last = key.split(".") if "/" not in key else [key]
        inner = target
        for word in above:
            inner = inner.setdefault(word, {})
        if isinstance(value, dict) and isinstance(inner.get(last), dict):
            _merge(inner[last], value)
        else:
            inner[last] = value


def _without(documents: list[Any], path: Path_) -> Iterator[list[Any]]:
    edited = copy.deepcopy(documents)
    owner = _get(edited, path[:-1])
    try:
        del owner[path[-1]]
    except (KeyError, IndexError, TypeError):
        return
    yield edited


def _mappings(data: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all mappings."""
    if isinstance(data, dict):
        yield path
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, each in pairs:
        yield from _mappings(each, (*path, key))


def _without_placements(data: Any) -> Any:
    """The object without placements, also without those of annotations."""
    if isinstance(data, dict):
        kept = {key: each for key, each in data.items() if key != "placement" and "bayplan.dev/" not in str(key)}
        return {key: _without_placements(each) for key, each in kept.items()}
    return [_without_placements(each) for each in data] if isinstance(data, list) else data


def _without_level(documents: list[Any], path: Path_) -> Iterator[list[Any]]:
    """Without a level of a pool, and without its values in the paths of domains."""
    for edited in _without(documents, path):
        pool = _get(edited, path[:-2])
        rows: dict[str, Any] = {}
        for row in pool.get("domains", ()):
            parts = str(row.get("path", "")).split("/")
            del parts[path[-1]]
            there = rows.setdefault("/".join(parts), {**row, "path": "/".join(parts), "nodes": ""})
            there["nodes"] = ",".join(filter(None, (there["nodes"], row["nodes"])))
        pool["domains"] = [row if row["path"] else {**row, "path": None} for row in rows.values()]
        for row in pool["domains"]:
            if not row["path"]:
                del row["path"]
        yield edited


def _nodes(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _nodes(each)


def _counts(documents: list[Any], kind: str, name: str, key: str, old: int, new: int) -> Iterator[list[Any]]:
    """A number of the podSets or groups of this name."""
    edited = copy.deepcopy(documents)
    lists = (each.get("podSets" if kind == "podSet" else "groups") or () for each in _nodes(edited))
    named = [each for listed in lists for each in listed if each.get("name") == name and each.get(key, 1) == old]
    for each in named:
        each[key] = new
    if named:
        yield edited


def _grouped(documents: list[Any], size: int, level: str) -> Iterator[list[Any]]:
    """Each podSet of a gang in a group of its own."""
    for number in range(len([each for each in _nodes(documents) if "podSets" in each])):
        edited = copy.deepcopy(documents)
        owner = [each for each in _nodes(edited) if "podSets" in each][number]
        first, *rest = owner.pop("podSets")
        owner["groups"] = [
            {"name": f"{first['name']}s", "size": size, "placement": {"required": level}, "podSets": [first]}
        ]
        owner["groups"] += [{"name": "others", "podSets": rest}] if rest else []
        yield edited


def _levels(documents: list[Any], place: Path_, old: str, new: str) -> Iterator[list[Any]]:
    """Another required level, in the nearest placement above the place that requires the old one."""
    for end in range(len(place), 0, -1):
        edited = copy.deepcopy(documents)
        owner = _get(edited, place[:end])
        for each in (owner, owner.get("placement") if isinstance(owner, dict) else None):
            if isinstance(each, dict) and each.get("required") == old:
                each.pop("required") if not new else each.update(required=new)
                yield edited
                return


NO_ACTION = re.compile(r"^(?:no action needed|allowed keys|ignore this|nothing to do)")


def pattern(code: str, hint: str) -> str:
    """A hint without its values: `W303: set "X"`."""
    plain = re.sub(r'"[^"]*"', '"X"', hint)
    return f"{code}: {re.sub(r'[0-9]+', 'N', plain)}"


def listed() -> dict[str, bool]:
    """Every hint of the goldens that says what to do -> whether a test follows one of its ways."""
    files = (described(path.stem) for path in DESCRIBED.glob("*.yaml"))
    found = {kind: True for file in files for hints in file.values() for kind in hints}
    for each in (each for name in cases.NAMES for each in said(name)):
        if each["hint"] and not NO_ACTION.match(each["hint"]):
            key = pattern(each["code"], each["hint"])
            found[key] = found.get(key, False) or any(map(known, ways(each["hint"])))
    return found


if __name__ == "__main__":
    for file in sys.argv[1:]:
        for name, why in judge_described(file).items():
            print(f"{name}: {why}")
    for left in sorted(key for key, followed in listed().items() if not followed):
        print(f"not followed: {left}")
