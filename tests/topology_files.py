"""Topologies written in a format and read back from it, as the command line does it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.cli.run import run
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.formats import Context
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.topologies import SOURCES, losses, native
from tools.data import parse

BY_OTHER_TESTS = ("volcano-discovery", "network-operator")
FROM = {each.to: each.name for each in SOURCES if each.to and each.reader and each.name not in BY_OTHER_TESTS}
"""Word after --to -> word after --from."""


def exported(topology: ClusterTopology, word: str, **versions: str) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """The text of an export, and what was said."""
    made = document.Document("topology.yaml", "", 0, native.write(topology))
    outcome, _ = pipeline.export(made, word, versions)
    return (None if outcome.value is None else "".join(emit(outcome.value))), outcome.diagnostics


class Said(NamedTuple):
    """What a run of the command line came to."""

    code: int
    out: str
    found: list[dict[str, Any]]
    err: str

    @property
    def codes(self) -> list[str]:
        return [each["code"] for each in self.found]


def imported(*sources: tuple[str, str | bytes], options: tuple[str, ...] = ()) -> Said:
    """`bayplan topology import` of files: (name, content) each."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in sources:
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "wb") as file:
                file.write(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        out = os.path.join(folder, "out.yaml")
        command = ["topology", "import", *paths, *options, "-o", out, "--diagnostics", "json"]
        with contextlib.redirect_stdout(stream()) as stdout, contextlib.redirect_stderr(stream()) as stderr:
            code = run(command)
        text = ""
        if os.path.exists(out):
            with open(out, encoding="utf-8") as file:
                text = file.read()
        said = written(stderr)
        return Said(code, written(stdout) + text, found_in(said), said)


def stream() -> io.TextIOWrapper:
    """A text stream in memory, with a buffer of bytes as the streams of a process have."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def written(made: io.TextIOWrapper) -> str:
    """What it got."""
    held = made.buffer
    assert isinstance(held, io.BytesIO)
    return held.getvalue().decode()


def found_in(text: str) -> list[dict[str, Any]]:
    try:
        data = json.loads(text)
    except ValueError:
        return []
    found: list[dict[str, Any]] = data["diagnostics"] if isinstance(data, dict) else data
    return found


def topology(text: str) -> ClusterTopology:
    """The topology in a file of ours."""
    outcome = native.read(parse(text), Context())
    assert outcome.value is not None, outcome.diagnostics
    return outcome.value.value


def back(text: str, word: str) -> ClusterTopology:
    """What comes back of a text in the format that `word` writes."""
    said = imported(("written.txt", text), options=("--from", FROM[word]))
    assert said.code == 0, said.err
    return topology(said.out)


def less(topology: ClusterTopology, *words: str) -> ClusterTopology:
    """The topology without what any of the formats cannot hold."""
    for word in words:
        topology = losses.minus(word, topology, Target())
    return topology


def nodes_of(topology: ClusterTopology) -> list[str]:
    """All nodes."""
    return [node for pool in topology.pools for row in pool.domains for node in row.nodes]
