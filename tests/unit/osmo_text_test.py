"""The text of an OSMO file: which files are such, their sections, keys, and files beside them."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

from bayplan import formats as reading
from bayplan.cli import inputs as beside
from bayplan.cli.run import run
from bayplan.core.diagnostics import Outcome
from bayplan.model.formats import Source
from bayplan.plugins.osmo import text
from bayplan.plugins.osmo.workflow import claims
from osmo_texts import data, marked, places, said, stage


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("workflow:\n  a: 1\n", True),
        ("version: 2\nworkflow: {}\n", True),
        ("default-values:\n  a: 1\n", True),
        ("# note\n\nworkflow:\n", True),
        ("apiVersion: v1\nworkflow: {}\n", False),
        ("  workflow:\n", False),
        ("tasks: []\n", False),
        ("spec:\n  workflow: a\n", False),
        ("", False),
    ],
)
def test_claims(file: str, expected: bool) -> None:
    assert claims(file) is expected


def entry(file: str, name: str = "", **variables: object) -> list[str]:
    """The codes that the entry point finds, and "ok" where there is a document."""
    found = reading.documents("w.yaml", file.encode(), "workflow", Source(name, variables))  # type: ignore[arg-type]
    return [each.code for each in found.diagnostics] + (["ok"] if found.value else [])


NATIVE = "apiVersion: bayplan.dev/v1alpha1\nkind: Workflow\n"


@pytest.mark.parametrize(
    ("file", "name", "codes"),
    [
        ("workflow:\n  on: 010\n", "", ["R112"]),
        ("workflow:\n  a: 010\n", "", ["ok"]),
        ("workflow:\n  a: 010\n", "native", ["A912"]),
        (NATIVE, "", ["ok"]),
        (NATIVE, "osmo", ["R123", "R123", "R123"]),
        ("tasks: []\n", "osmo", ["R123", "R123"]),
        ('{"workflow": {"a": "{{ b }}"}}\n', "", ["R123"]),
        ("workflow : {}\n", "", ["ok"]),
        ("'workflow': {}\n", "", ["ok"]),
        ("workflow: {}\nworkflow: {}\n", "", ["R110", "ok"]),
        ("workflow: {a: '{{ b }}'}\nworkflow: {}\n", "", ["R123"]),
        ("# note\n", "osmo", ["R123"]),
        ("\t# note\nworkflow: {}\n", "", ["R107"]),
    ],
)
def test_which_way_a_file_is_read(file: str, name: str, codes: list[str]) -> None:
    assert entry(file, name) == codes


def test_a_native_file_has_no_variables() -> None:
    assert entry(NATIVE, a=1) == ["A920"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("workflow: {}\nversoin: 2\n", [("R123", 2, "versoin")]),
        ("workflow:\n  name: a\ntasks: []\nresources: {}\n", [("R123", 3, "tasks"), ("R123", 4, "resources")]),
        ("workflow: {}\nversion: 2\n\nworkflow: {}\n", [("R110", 4, "w")]),
        ("default-values: {a: 1}\n", [("R123", 1, "d")]),
        ("workflow: {}\nversion: 3\n", [("R123", 2, "version")]),
        ("version: '2'\nworkflow: {}\n", []),
        ("version: 2.0\nworkflow: {}\n", []),
        ("version:\nworkflow: {}\n", [("R123", 1, "version")]),
        ("version: [\nworkflow: {}\n", [("R123", 1, "version")]),
        ("version: true\nworkflow: {}\n", [("R123", 1, "version")]),
        ("workflow: {}\ndefault-values: [a]\n", [("R123", 2, "default-values")]),
        ("workflow: {}\ndefault-values: a\n", [("R123", 2, "default-values")]),
        ("workflow: {}\ndefault-values:\n", []),
        ("workflow: {}\ndefault-values: []\n", []),
        ("workflow: {}\ndefault-values: false\n", []),
        ("workflow: {}\ndefault-values:x\n", [("R123", 2, "default-values")]),
        ("workflow:x\n", [("R123", 1, "w")]),
        ("workflow: {}\ndefault-values:\n  a: [\n", [("R107", 4, "")]),
        ("workflow: {}\ndefault-values:\n  a: 1\n  a: 2\n", [("R110", 4, "a")]),
        ("workflow: {}\n---\na: 1\n", [("R123", 2, "---")]),
        ("workflow: {}\n---\n- 1\n", [("R123", 2, "---")]),
        ("---\nworkflow: {}\n", []),
        ("%YAML 1.1\n---\nworkflow: {}\n", []),
        ("'default-values':\n  a: 1\nworkflow: {}\n", [("R123", 1, "'default-values':")]),
        ("workflow: {}\ndefault-values: {a: 1}\n---\n- 1\n", [("R123", 2, "default-values")]),
    ],
)
def test_sections(file: str, expected: list[tuple[str, int, str]]) -> None:
    assert places(file) == expected


def test_the_hints_of_sections() -> None:
    assert [each.hint for each in said("workflow: {}\nversoin: 2\ntasks: []\n")] == [
        'did you mean "version"?',
        "indent it: tasks is a key of `workflow:`",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks(end: str, mark: bytes) -> None:
    file = "workflow:\n  a: {{ v }}\n  b: |\n    x\n    y\n\ndefault-values:\n  v: 1\n".replace("\n", end)
    assert data(mark + file.encode()) == {"a": 1, "b": "x\ny\n"}


@pytest.mark.parametrize(("raw", "code"), [(b"workflow:\n  a: \xff\n", "R104"), (b"workflow:\n  a: \x00\n", "R104")])
def test_what_is_no_text(raw: bytes, code: str) -> None:
    assert [each.code for each in stage(raw).diagnostics] == [code]


@pytest.mark.parametrize("name", ["", "osmo"])
@pytest.mark.parametrize("file", ["workflow:\n  a: 1\n", "workflow:\n  a: {{ b }}\n"])
def test_osmo_reads_no_utf_16(file: str, name: str) -> None:
    found = reading.documents("w.yaml", file.encode("utf-16"), "workflow", Source(name))
    assert [(each.code, each.hint) for each in found.diagnostics] == [("R104", "save it as UTF-8")]
    native = NATIVE.encode("utf-16")
    assert reading.documents("w.yaml", native, "workflow", Source()).diagnostics == ()


@pytest.mark.parametrize("file", ["version: 2\nworkflow:\n  a: {{ b }}\n", "\ndefault-values: {}\n"])
def test_an_osmo_file_is_told_as_one_whatever_is_asked_for(file: str) -> None:
    (found,) = reading.documents("w.yaml", file.encode(), "workflow", Source("native")).diagnostics
    assert (found.code, found.route[2:]) == ("A912", (2, 1))


def test_a_variable_is_named_by_a_text() -> None:
    file = "workflow:\n  a: 1\ndefault-values:\n  b: {2: 1}\n  on: 1\n  'x': 1\n  7: 1\n"
    assert places(file) == [("R112", 5, "on"), ("R112", 7, "7")]
    assert data("workflow:\n  a: {{ b[2] }}\ndefault-values:\n  b: {2: 1}\n") == {"a": 1}


def test_a_local_file_is_read_once() -> None:
    asked: list[str] = []

    def side(path: str) -> Outcome[bytes]:
        asked.append(path)
        return Outcome(b"x")

    file = "workflow:\n  tasks:\n" + "  - files: [{path: p, localpath: s}, {path: q, contents: c}]\n" * 2000
    found = text.read("w.yaml", file.encode(), "workflow", Source("", {}, side, None))
    assert found.value is not None
    files = [{"path": "p", "contents": "x"}, {"path": "q", "contents": "c"}]
    assert found.value[0].data["workflow"]["tasks"] == [{"files": files}] * 2000
    assert asked == ["s"]


def test_keys_that_are_no_texts() -> None:
    file = "workflow:\n  tasks:\n  - environment: {2: a, on: b}\n    exitActions: {0: c}\n    2: d\n    3: e\n"
    assert places(file) == [("R112", 5, "2")]
    assert places("workflow:\n  tasks:\n  - credentials: {2: a, c: {on: b}}\n") == []
    assert data("workflow:\n  tasks: [{environment: {2: a, on: b}}]\n")["tasks"] == [
        {"environment": {"2": "a", "True": "b"}}
    ]


def test_dates_stay_dates_for_the_schema_to_say() -> None:
    assert data("workflow:\n  a: 2024-01-31\n") == {"a": datetime.date(2024, 1, 31)}


LOCAL = """\
workflow:
  groups:
  - tasks:
    - files:
      - {path: /a, localpath: a.sh}
  tasks:
  - files: &shared
    - {path: /b, localpath: b.sh}
    - {path: /c, contents: c}
  - files: *shared
"""


def test_local_files() -> None:
    found = data(LOCAL, {"a.sh": b"one\r\ntwo\r", "b.sh": "\ufeffü\n".encode()})
    assert found["groups"][0]["tasks"][0]["files"] == [{"path": "/a", "contents": "one\ntwo\n"}]
    files = [{"path": "/b", "contents": "\ufeffü\n"}, {"path": "/c", "contents": "c"}]
    assert [task["files"] for task in found["tasks"]] == [files, files]


def test_every_local_file_that_is_wrong_is_told() -> None:
    file = """\
workflow:
  tasks:
  - files:
    - {path: /a, localpath: missing}
    - {path: /b, localpath: there, contents: c}
    - {path: /c, localpath: 4}
    - {path: /d, localpath: latin}
    - {path: /e, localpath: }
    - {path: /f, localpath: there}
"""
    assert places(file, {"there": b"", "latin": b"a\xe9"}) == [
        ("R134", 4, "missing"),
        ("R134", 5, "localpath"),
        ("R134", 6, "4"),
        ("R134", 7, "latin"),
        ("R134", 8, "localpath"),
    ] or places(file, {"there": b"", "latin": b"a\xe9"})[4][:2] == ("R134", 8)


@pytest.mark.parametrize("odd", ["tasks: 1", "tasks: [1, {files: 2}, {files: [3]}]", "groups: [{tasks: 4}]", "a"])
def test_odd_data_is_left_to_the_schema(odd: str) -> None:
    assert stage(f"workflow: {{{odd}}}\n").diagnostics == ()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "flow"
    (inner / "scripts").mkdir(parents=True)
    (inner / "scripts" / "run.sh").write_bytes(b"echo\n")
    (tmp_path / "secret").write_bytes(b"s")
    os.symlink(tmp_path / "secret", inner / "link")
    os.symlink(inner / "scripts", inner / "inside")
    os.symlink("/", inner / "root")
    os.mkfifo(inner / "pipe")
    return inner


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("scripts/run.sh", ""),
        ("./scripts/../scripts/run.sh", ""),
        ("inside/run.sh", ""),
        ("scripts/rum.sh", "R134"),
        ("scripts", "R134"),
        ("pipe", "R134"),
        ("-", "R134"),
        ("a\0b", "R134"),
        ("x" * 5000, "R134"),
        ("../secret", "R134"),
        ("../flow/scripts/run.sh", ""),
        ("link", "R134"),
        ("root/etc/passwd", "R134"),
        ("/etc/passwd", "R134"),
        ("..", "R134"),
    ],
)
def test_files_beside(folder: Path, path: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for base in (str(folder), ""):
        monkeypatch.chdir(folder)
        found = beside.read_beside(base, path)
        assert [each.code for each in found.diagnostics] == ([code] if code else [])
        assert found.value == (None if code else b"echo\n")


def test_a_missing_file_has_a_near_name(folder: Path) -> None:
    assert beside.read_beside(str(folder), "scripts/rum.sh").diagnostics[0].hint == 'did you mean "scripts/run.sh"?'


def test_files_lie_beside_the_workflow_and_not_where_one_stands(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "w.yaml").write_text("workflow:\n  tasks: [{files: [{path: /a, localpath: scripts/run.sh, b: 1}]}]\n")
    monkeypatch.chdir(tmp_path)
    run(["check", "flow/w.yaml"])
    assert "R134" not in "".join(capsys.readouterr())


def test_an_unused_variable_is_told_if_no_file_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(f"{name}.yaml").write_text(f"workflow:\n  name: {{{{ {name} }}}}\n")
    Path("c.yaml").write_text("workflow:\n  name: c\n")
    run(["check", "a.yaml", "c.yaml", "--set", "a=1", "--set", "z=2", "--diagnostics", "json"])
    out = capsys.readouterr().out
    assert '"no template uses the variable \\"z\\""' in out
    assert '"no template uses the variable \\"a\\""' not in out


def test_marked_helper_is_honest() -> None:
    assert [marked(each) for each in said("workflow:\n  a: {{ v }}\n")] == [(2, "v")]
