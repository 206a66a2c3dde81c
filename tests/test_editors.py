"""The schemas in an editor: yaml-language-server, which VS Code, Neovim and others run, over its own protocol.

`bash tests/editors/prepare` installs it.
"""

from __future__ import annotations

import json
import queue
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli.commands import SCHEMAS
from tools.data import parse
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan

SETTINGS = {"schemaStore": {"enable": False}, "validate": True, "completion": True, "hover": True}
MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")
POLICY = """\
apiVersion: bayplan.dev/v1alpha1
kind: Policy
spec:
  rules:
  - match: {kind: JobSet}
    gang: {placement: {required: rack}}
"""


class Editor:
    """A client of the language server."""

    def __init__(self, program: str, folder: Path) -> None:
        self.server = subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.answers: dict[int, queue.Queue[Any]] = {}
        self.found: dict[str, queue.Queue[list[dict[str, Any]]]] = {}
        threading.Thread(target=self._read, daemon=True).start()
        self.ask(
            "initialize", processId=None, rootUri=folder.as_uri(), capabilities={"workspace": {"configuration": True}}
        )
        self._send(method="initialized", params={})
        self._send(method="workspace/didChangeConfiguration", params={"settings": {"yaml": SETTINGS}})

    def _send(self, **message: Any) -> None:
        assert self.server.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.server.stdin.flush()

    def _read(self) -> None:
        stream = self.server.stdout
        assert stream
        while header := stream.readline():
            size = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(size))
            if message.get("method") == "workspace/configuration":
                sections = [each.get("section") for each in message["params"]["items"]]
                self._send(id=message["id"], result=[SETTINGS if each == "yaml" else {} for each in sections])
            elif message.get("method") == "textDocument/publishDiagnostics":
                self._of(message["params"]["uri"]).put(message["params"]["diagnostics"])
            elif "method" in message and "id" in message:
                self._send(id=message["id"], result=None)
            elif "id" in message:
                self.answers[message["id"]].put(message.get("result"))

    def _of(self, uri: str) -> queue.Queue[list[dict[str, Any]]]:
        return self.found.setdefault(uri, queue.Queue())

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to a request."""
        self.number += 1
        self.answers[self.number] = queue.Queue()
        self._send(id=self.number, method=method, params=params)
        return self.answers[self.number].get(timeout=60)

    def open(self, path: Path) -> list[str]:
        """Opens a file. Returns what the editor says is wrong with it."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text(encoding="utf-8")}
        self._send(method="textDocument/didOpen", params={"textDocument": document})
        return [each["message"] for each in self._of(path.as_uri()).get(timeout=60)]

    def at(self, method: str, path: Path, text: str) -> Any:
        """Asks about the place behind the first occurrence of a text."""
        before = path.read_text(encoding="utf-8").partition(text)[0] + text
        position = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        return self.ask(f"textDocument/{method}", textDocument={"uri": path.as_uri()}, position=position)


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """A language server."""
    program = shutil.which("yaml-language-server")
    if program is None:
        pytest.skip("yaml-language-server is not installed")
    made = Editor(program, tmp_path_factory.mktemp("editor"))
    yield made
    with made.server:
        made.server.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `init` writes, and workflows and topologies of other formats that it imports."""
    assert bayplan("init", "ml", cwd=tmp_path).returncode == 0
    (tmp_path / "ml" / "jobs").mkdir()
    run = ("import", str(EXAMPLES / "osmo-two-racks" / "workflow.yaml"), "-o", "ml/jobs/new/a.yaml")
    (tmp_path / "ml" / "jobs" / "new").mkdir()
    assert bayplan(*run, cwd=tmp_path).returncode == 0
    nodes = EXAMPLES / "sources" / "nodes.json"
    assert bayplan("topology", "import", str(nodes), "-o", "b.yaml", cwd=tmp_path / "ml").returncode == 0
    return tmp_path / "ml"


def test_every_file_names_a_schema_that_is_there(folder: Path) -> None:
    files = sorted(folder.rglob("*.yaml"))
    assert [each.name for each in files] == ["b.yaml", "bayplan.yaml", "a.yaml", "topology.yaml", "workflow.yaml"]
    for file in files:
        named = MODELINE.match(file.read_text(encoding="utf-8"))
        assert named
        schema = json.loads((file.parent / named[1]).read_text(encoding="utf-8"))
        assert schema["title"].replace(" ", "") == parse(file.read_text(encoding="utf-8"))["kind"]


def test_a_file_outside_of_a_project_with_schemas_has_no_such_line(tmp_path: Path) -> None:
    done = bayplan("import", str(PRETRAIN / "workflow.yaml"), cwd=tmp_path)
    assert done.stdout.startswith("apiVersion: ")
    bayplan("schema", "-o", ".bayplan/schemas/", cwd=tmp_path)
    done = bayplan("import", str(PRETRAIN / "workflow.yaml"), cwd=tmp_path)
    assert done.stdout.startswith("# yaml-language-server: $schema=.bayplan/schemas/workflow.json\napiVersion: ")
    (tmp_path / "ml").mkdir()
    assert bayplan("init", "ml/new", cwd=tmp_path).returncode == 0
    assert not list((tmp_path / "ml").rglob("*.json")), "the project has them already"
    assert (tmp_path / "ml/new/workflow.yaml").read_text().startswith("# yaml-language-server: $schema=../../.bayplan/")


def test_schema_writes_one_or_all(tmp_path: Path) -> None:
    assert bayplan("schema", "-o", "new/", cwd=tmp_path).returncode == 0
    assert {each.stem for each in (tmp_path / "new").iterdir()} == set(SCHEMAS)
    for each in ("policy.json", "new/"):
        assert bayplan("schema", "policy", "-o", each, cwd=tmp_path).returncode == 0
    texts = {(tmp_path / each).read_text() for each in ("policy.json", "new/policy.json")}
    assert texts == {bayplan("schema", "policy").stdout}


def test_an_editor_finds_nothing_wrong(editor: Editor, folder: Path) -> None:
    bayplan("schema", "-o", ".bayplan/schemas/", cwd=folder)
    project = (EXAMPLES / "project" / "bayplan.yaml").read_text(encoding="utf-8")
    for kind, text in (("project", project), ("policy", POLICY)):
        line = f"# yaml-language-server: $schema=.bayplan/schemas/{kind}.json\n"
        (folder / f"{kind}.yaml").write_text(line + text, encoding="utf-8")
    files = sorted(folder.rglob("*.yaml"))
    assert len(files) == 7
    assert {each.name: editor.open(each) for each in files} == {each.name: [] for each in files}


def test_an_editor_explains_and_completes(editor: Editor, folder: Path) -> None:
    file = folder / "workflow.yaml"
    editor.open(file)
    hover = editor.at("hover", file, "  gangs")
    schema = json.loads((ROOT / "schemas" / "workflow.json").read_text(encoding="utf-8"))
    about = schema["properties"]["spec"]["properties"]["gangs"]["description"]
    assert " ".join(about.split())[:40] in " ".join(str(hover["contents"]["value"]).split())
    other = folder / "other.yaml"
    other.write_text(file.read_text(encoding="utf-8").replace("spec:\n", "spec:\n  pri\n"), encoding="utf-8")
    editor.open(other)
    labels = [each["label"] for each in editor.at("completion", other, "\n  pri")["items"]]
    assert "priorityClassName" in labels


def test_an_editor_finds_a_wrong_field(editor: Editor, folder: Path) -> None:
    file = folder / "wrong.yaml"
    text = (folder / "workflow.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("  gangs:", "  quue: a\n  gangs:"), encoding="utf-8")
    assert editor.open(file) == ["Property quue is not allowed."]


def test_the_entries_of_the_catalogue() -> None:
    """SchemaStore, src/schemas/json/schema-catalog.json: name, description, https URL, and unique file patterns."""
    entries = json.loads((ROOT / "packaging" / "schemastore" / "catalog.json").read_text(encoding="utf-8"))
    for each in entries:
        assert {"name", "description", "url"} <= each.keys() <= {"name", "description", "url", "fileMatch"}
        name = re.fullmatch(r"https://www\.schemastore\.org/bayplan-([a-z-]+)\.json", each["url"])
        assert name
        assert name[1] in SCHEMAS
    patterns = [pattern for each in entries for pattern in each.get("fileMatch", ())]
    assert patterns == ["bayplan.yaml"], "other names are also those of other programs"
