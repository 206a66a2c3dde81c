"""The memory of commands that refuse a large file.

`python -m tools.memory [WORD...]` measures all shapes, of 15 MB each. A shape is a file that is cheap to write and
expensive to read. The growth is the peak of the process, less that of the same command with a small file of the same
shape. Linux only: the peak is VmHWM in /proc/self/status.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tools.run import PRETRAIN, python

MEGABYTE = 10**6
SIZE = 15 * MEGABYTE
TIMES, MORE = 10, 60 * MEGABYTE
"""The growth is at most so many times the input, and this constant."""

KNOWN = {"mappings with other long keys": 20, "keys of a workflow": 12}
"""Shapes that need more. A mapping with one key takes 184 bytes, and a validator makes a set of all keys."""

TOPOLOGY = f"{PRETRAIN}/topology.yaml"
RUN = """
import sys
from bayplan.__main__ import main
code = main()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print("\\nPEAK", code, peak, file=sys.stderr)
"""


class Shape(NamedTuple):
    """A file: `head`, then `piece` as often as it fits, then `tail`. `{n}` in the piece is its number, `{w}` a word."""

    piece: str
    head: str = ""
    tail: str = ""
    command: str = "topology check FILE"
    encoding: str = "utf-8"

    def text(self, size: int) -> str:
        """The text with about this number of bytes."""
        size //= 2 if self.encoding != "utf-8" else 1
        room = size - len(self.head) - len(self.tail)
        return self.head + "".join(_pieces(self.piece, room)) + self.tail


def _pieces(piece: str, room: int) -> Iterator[str]:
    if "{n}" not in piece and "{w}" not in piece:
        yield piece * (room // len(piece))
        return
    for number in count():
        text = piece.replace("{n}", str(number)).replace("{w}", _word(number))
        room -= len(text)
        if room < 0:
            return
        yield text


def _word(number: int) -> str:
    digits = ""
    while number >= 0:
        number, digit = divmod(number, 26)
        digits, number = "abcdefghijklmnopqrstuvwxyz"[digit] + digits, number - 1
    return digits


_OURS = "apiVersion: bayplan.dev/v1alpha1\nkind: {}\nmetadata: {{name: a}}\nspec:\n".format
_TOPOLOGY, _WORKFLOW = _OURS("ClusterTopology"), _OURS("Workflow")
_LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
_FUNCTION = "functionConfig:\n  apiVersion: bayplan.dev/v1alpha1\n  kind: PlaceWorkloads\n  metadata:\n    name: a\n"
_FUNCTION += f"  spec:\n    topology: {TOPOLOGY}\n"
_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a{n}}\n"
_CHECK, _LINT, _IMPORT = "check FILE", "lint FILE", "topology import FILE"
_HELM = f"post-render -t {TOPOLOGY}"

SHAPES: Mapping[str, Shape] = {
    # JSON
    "lists": Shape("[],", "[", "[]]"),
    "lists of lists": Shape("[[]],", "[", "[]]"),
    "open lists": Shape("["),
    "open mappings": Shape('{"a":'),
    "mappings": Shape("{},", "[", "{}]"),
    "mappings with a key": Shape('{"a":1},', "[", "{}]"),
    "mappings with other keys": Shape('{"{w}":1},', "[", "{}]"),
    "mappings with other long keys": Shape('{"{w}xxxxxxxxxxxxxx":1},', "[", "{}]"),
    "one key": Shape('"a":{},', "{", '"b":1}'),
    "many keys": Shape('"{w}":{},', "{", '"":1}'),
    "a duplicate key at the end": Shape('"{w}":1,', "{", '"a":1}'),
    "short strings": Shape('"{w}",', "[", '""]'),
    "longer strings": Shape('"{w}xxxxxxxxxx",', "[", '""]'),
    "one string": Shape("a", '["', '"]'),
    "escapes": Shape("\\n", '["', '"]'),
    "surrogates": Shape('"\\ud800",', "[", '""]'),
    "integers": Shape("{n},", "[", "0]"),
    "floats": Shape("{n}.5,", "[", "0]"),
    "digits": Shape("1", "[", "]"),
    "large integers": Shape("12345678901234567890,", "[", "0]"),
    "infinities": Shape("1e999,", "[", "0]"),
    "nulls": Shape("null,", "[", "0]"),
    "not JSON at the end": Shape("[],", "[", "]"),
    "line feeds": Shape("\n", "[", "]"),
    "commas": Shape(",", "[", "]"),
    "UTF-16": Shape("[],", "\ufeff[", "[]]", encoding="utf-16-le"),
    # YAML
    "items": Shape("- a\n"),
    "other items": Shape("- {w}\n"),
    "long items": Shape("- {w}xxxxxxxxxx\n"),
    "dashes": Shape("- "),
    "dashes in lines": Shape("- - - -\n"),
    "empty items": Shape("-\n"),
    "a mapping": Shape("a{n}: 1\n"),
    "a mapping with long keys": Shape("a{n}xxxxxxxxxxxx: 1\n"),
    "keys only": Shape("{w}:\n"),
    "question marks": Shape("? {w}\n"),
    "a list in flow style": Shape("a,", "x: [", "]"),
    "lists in flow style": Shape("[],", "x: [", "]"),
    "pairs in flow style": Shape("a: b, ", "x: [", "]"),
    "anchors": Shape("- &{w} a\n"),
    "aliases": Shape("- *a\n", "- &a b\n"),
    "aliases of a list": Shape("- *a\n", "- &a [b]\n"),
    "comments": Shape("#\n"),
    "blank lines": Shape("\n"),
    "carriage returns": Shape("\r", "a: 1", "b"),
    "spaces": Shape(" "),
    "markers": Shape("---\n"),
    "documents": Shape("a: 1\n---\n"),
    "ends of documents": Shape("--- a\n...\n"),
    "a plain scalar": Shape("a\n", "x: "),
    "a literal block": Shape("  a\n", "x: |\n"),
    "a folded block": Shape("  a\n\n", "x: >\n"),
    "lines in quotes": Shape("\n", 'x: "', '"'),
    "tabs": Shape("\t", "a:\n", "b"),
    "tags": Shape("- !!str a\n"),
    "unknown tags": Shape("- !x a\n"),
    "a long tag": Shape("a", "!", " b\n"),
    "duplicate keys": Shape("a: 1\n"),
    "merge keys": Shape("- {<<: *a}\n", "- &a {b: 1}\n"),
    "keys that are numbers": Shape("{n}: 1\n"),
    "ambiguous scalars": Shape("- yes\n"),
    "colons": Shape(":", "a: "),
    "an error at the end": Shape("a{n}: 1\n", tail="b\n"),
    "a wide character": Shape("- a{n}\n", "x: \U0001f600\n"),
    "YAML in UTF-16": Shape("- a{n}\n", "\ufeff", encoding="utf-16-le"),
    "a line separator": Shape("a\n", tail="\u2028"),
    "a NUL": Shape("a\n", tail="\0"),
    # Documents that bayplan reads, and refuses later
    "unknown keys": Shape("  a{n}xxxxxxxxxxxxxxxxxxxxxxxxx: 1\n", _TOPOLOGY),
    "unknown keys below": Shape("  - {name: {w}, xxxxxxxxxxxxxxxx: 1}\n", f"{_TOPOLOGY}  pools:\n"),
    "a long value": Shape("x", f"{_TOPOLOGY}  a: "),
    "podSets": Shape("    - {name: a{n}, replicas: 1}\n", f"{_WORKFLOW}  gangs:\n  - podSets:\n", command=_CHECK),
    "keys of a workflow": Shape("  a{n}xxxxxxx: 1\n", _WORKFLOW, command=_CHECK),
    "workflows": Shape(f"{_WORKFLOW}  {{}}\n---\n", command=_CHECK),
    "directives": Shape("#SBATCH --foo=1\n", "#!/bin/bash\n", command=_CHECK),
    "a script": Shape("srun a\n", "#!/bin/bash\n#SBATCH -N 2\n", command=_CHECK),
    "OSMO tasks": Shape("  - {name: a{n}, image: x, foo: 1}\n", "workflow:\n  tasks:\n", command=_CHECK),
    "OSMO duplicates": Shape("  a: 1\n", "workflow:\n", command=_CHECK),
    "TorchX roles": Shape('{"name": "a{n}", "foo": 1},', '{"name": "a", "roles": [', "{}]}", command=_CHECK),
    # Streams and lists
    "pods": Shape(f"{_POD}---\n", command=_LINT),
    "pods with an error at the end": Shape(f"{_POD}---\n", tail="{", command=_LINT),
    "larger pods": Shape(_POD + "# a comment\n" * 20 + "---\n", tail="{", command=_LINT),
    "a ResourceList": Shape("- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a{n}\n", _LIST, _FUNCTION, "krm"),
    "a ResourceList without names": Shape("- apiVersion: v1\n  kind: Pod\n", _LIST, _FUNCTION, "krm"),
    "a ResourceList of strings": Shape("- a\n", _LIST, _FUNCTION, "krm"),
    "a stream of Helm": Shape("- a\n", "# bayplan.dev\n", command=_HELM),
    "an error in a stream of Helm": Shape(
        "---\nkind: Map\n", tail="---\nkind: Pod # bayplan.dev\na: [\n", command=_HELM
    ),
    "nodes with wrong names": Shape('{"kind": "Node", "metadata": {"name": 1{n}}},', '{"items": [', "{}]}", _IMPORT),
    "a list instead of a node": Shape("[],", '{"kind": "NodeList", "items": [[', "[]]]}", _IMPORT),
    "nodes in YAML": Shape("- kind: Node\n  metadata: {name: 1{n}}\n", "kind: List\nitems:\n", command=_IMPORT),
}


class Measured(NamedTuple):
    """The exit code of a command, and its peak in bytes."""

    code: int
    peak: int
    report: str


def measure(shape: Shape, size: int) -> Measured:
    """Runs the command of a shape."""
    text = shape.text(size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "input.yaml")
        path.write_bytes(text.encode(shape.encoding))
        words = [str(path) if word == "FILE" else word for word in shape.command.split(" ")]
        result = python("-c", RUN, *words, stdin="" if "FILE" in shape.command else text)
    report, _, numbers = result.stderr.rpartition("\nPEAK ")
    code, peak = (int(each) for each in numbers.split())
    return Measured(code, peak * 1024, report + result.stdout)


def growth(shape: Shape, size: int) -> tuple[int, Measured]:
    """The bytes by which the command grows with the text, and its last run."""
    large = measure(shape, size)
    return large.peak - measure(shape, 3000).peak, large


def main() -> int:
    """Prints the growth of all shapes, or of those whose names contain a word. Exit code 1: one grows too much."""
    words, wrong = sys.argv[1:], 0
    for name, shape in SHAPES.items():
        if not words or any(word in name for word in words):
            grown, large = growth(shape, SIZE)
            too_much = grown > KNOWN.get(name, TIMES) * SIZE + MORE
            wrong += too_much
            first = next(iter(large.report.splitlines()), "")
            mark = "TOO MUCH" if too_much else "accepted" if large.code == 0 else ""
            print(f"{name:32} {grown / MEGABYTE:5.0f} MB {grown / SIZE:5.1f} x  {mark:8} {first[:90]}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
