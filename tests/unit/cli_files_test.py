"""Arguments that are no files, or no files to read; the project file; values of options."""

from __future__ import annotations

import io
import os
import socket
import sys
from pathlib import Path

import pytest

from bayplan.cli import files, lint, project, source_files
from bayplan.cli import options as arguments
from bayplan.cli.commands import COMMANDS
from bayplan.cli.options import Arguments
from bayplan.text.source import Limits, limited

COVERS = {"R103"}


def code_of(path: str) -> str:
    """The code with which a file is refused; empty when it is read."""
    _, batch = files.load(path, "workflow")
    return batch.diagnostics[0].code if batch.diagnostics else ""


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\n---\nb: 2\n")
    documents, batch = files.load(str(tmp_path / "a.yaml"), "workflow")
    assert [document.data for document in documents] == [{"a": 1}, {"b": 2}]
    assert batch.diagnostics == ()


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        found = [code_of(str(path)) for path in (tmp_path, tmp_path / "pipe", tmp_path / "s", "/dev/zero", "/dev/null")]
    assert found == ["R101"] * 5


@pytest.mark.parametrize("name", ["", "gone", "a\0b", "x" * 5000, "gone/there", "loop"])
def test_what_cannot_be_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    assert code_of(name) == "R101"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(0)
    assert code_of(str(tmp_path / "secret")) == "R101"


def test_what_is_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(Limits().bytes + 1)
    assert code_of(str(tmp_path / "large")) == "R103"


def test_standard_input_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with limited(Limits(bytes=4)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\nb: 2\n")))
        assert code_of("-") == "R103"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: 1")))
        assert files.raw_of("-", "manifest").value == b"a: 1"


def test_a_folder_whose_path_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system lists no such folder, not even for root."""
    monkeypatch.chdir(tmp_path)
    for _ in range(40):
        os.mkdir("x" * 250)
        os.chdir("x" * 250)
    os.chdir(tmp_path)
    batches = lint.load_manifests(["."]).batches
    (found,) = [each for batch in batches for each in batch.diagnostics if each.code == "R101"]
    assert found.message == "cannot read the folder: File name too long"


def test_a_source_that_is_too_large_to_be_read_whole(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("kind: List\n")
    with limited(Limits(bytes=10)), pytest.raises(files.UnreadableError) as refused:
        assert source_files.OpenedFile(str(tmp_path / "nodes.yaml"), 0).text
    (found,) = refused.value.diagnostics
    assert (found.code, "more than 10 bytes" in found.message) == ("R103", True)


def test_a_source_that_is_too_large_to_be_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "PIECE", 4)
    (tmp_path / "nodes.json").write_text('{"items": []}')
    with limited(Limits(bytes=1, streamed=13)):
        assert "".join(source_files.OpenedFile(str(tmp_path / "nodes.json"), 0).chunks()) == '{"items": []}'
    with limited(Limits(streamed=12)), pytest.raises(files.UnreadableError) as refused:
        list(source_files.OpenedFile(str(tmp_path / "nodes.json"), 0).chunks())
    (found,) = refused.value.diagnostics
    assert (found.code, "--limit streamed=" in found.hint) == ("R103", True)


def test_a_byte_that_is_no_character_far_down_in_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "PIECE", 8)
    (tmp_path / "nodes.json").write_bytes("häuser:\n- ä\n- ".encode() + b"\xe4\n")
    with pytest.raises(files.UnreadableError) as refused:
        list(source_files.OpenedFile(str(tmp_path / "nodes.json"), 0).chunks())
    (found,) = refused.value.diagnostics
    assert (found.code, found.route[-2]) == ("R104", 3)
    assert found.message == "the file is not UTF-8: e4 is not a character"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: [")))
    _, batch = files.load("-", "workflow")
    assert [each.code for each in batch.diagnostics] == ["R107"]
    assert batch.sources["workflow"][:2] == ("<stdin>", "a: [")
    monkeypatch.setattr(sys, "stdin", None)
    assert code_of("-") == "R101"


PROJECT = "apiVersion: bayplan.dev/v1alpha1\nkind: Project\n"


class TestProject:
    def test_it_is_found_above(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a/b").mkdir(parents=True)
        (tmp_path / "hall").mkdir()
        (tmp_path / "hall/topology.yaml").touch()
        (tmp_path / "bayplan.yaml").write_text(f"{PROJECT}spec: {{topology: hall/topology.yaml}}\n")
        monkeypatch.chdir(tmp_path / "a/b")
        path, (batch,) = project.named("topology")
        assert path == "../../hall/topology.yaml"
        assert batch.diagnostics == ()

    def test_the_nearest_wins(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "bayplan.yaml").write_text(f"{PROJECT}spec: {{topology: far}}\n")
        (tmp_path / "a/bayplan.yaml").write_text(f"{PROJECT}spec: {{topology: near}}\n")
        (tmp_path / "a/near").touch()
        monkeypatch.chdir(tmp_path / "a")
        assert project.named("topology")[0] == "near"

    def test_there_may_be_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert project.named("topology") == (None, ())

    @pytest.mark.parametrize("spec", ["", "spec: {}\n", "spec: {policy: policy.yaml}\n"])
    def test_it_may_name_no_topology(self, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "bayplan.yaml").write_text(PROJECT + spec)
        monkeypatch.chdir(tmp_path)
        path, (batch,) = project.named("topology")
        assert path is None
        assert batch.diagnostics == ()

    @pytest.mark.parametrize(
        "text",
        [
            "a",
            "kind: Project\n",
            f"{PROJECT}---\n{PROJECT}",
            f"{PROJECT}spec: []\n",
            f"{PROJECT}spec: {{topology: [a]}}\n",
            "kind: [\n",
            "",
        ],
    )
    def test_it_may_be_broken(self, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "bayplan.yaml").write_text(text)
        monkeypatch.chdir(tmp_path)
        path, (batch,) = project.named("topology")
        assert path is None
        assert len(batch.diagnostics) == 1


def given(**options: tuple[str, ...]) -> Arguments:
    return Arguments(COMMANDS[0], ("a",), options)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("kai=0.17",), {"kai": "0.17"}),
        (("kai=v0.17, kubernetes = 1.34",), {"kai": "0.17", "kubernetes": "1.34"}),
        (("kai=0.17", "kai=0.17", "draDriver=25.12"), {"kai": "0.17", "draDriver": "25.12"}),
        (("kai=nonsense",), {"kai": "nonsense"}),
    ],
)
def test_target(values: tuple[str, ...], expected: dict[str, str]) -> None:
    assert arguments.target(given(target=values)).value == expected


@pytest.mark.parametrize("value", ["", "kai", "kai=", "=1", ",", "kai=1,", "kai=0.1,kai=0.2"])
def test_target_in_the_wrong_form(value: str) -> None:
    outcome = arguments.target(given(target=(value,)))
    assert outcome.value is None
    assert {each.code for each in outcome.diagnostics} == {"A920"}


def test_lists_of_codes() -> None:
    asked = given(accept=("F601, F626", "F602"), **{"fail-on": ("P508,M706",)})
    assert arguments.accept(asked).value == {"F601", "F602", "F626"}
    assert arguments.fail_on(asked).value == {"P508", "M706"}


@pytest.mark.parametrize(
    ("code", "found"), [("F602", []), ("F999", ["A920"]), ("", ["A920"]), ("P502", ["A920"]), ("S201", ["A920"])]
)
def test_accept(code: str, found: list[str]) -> None:
    assert [each.code for each in arguments.accept(given(accept=(code,))).diagnostics] == found


@pytest.mark.parametrize("option", ["set", "set-string"])
@pytest.mark.parametrize("value", ["a", "=b", ""])
def test_a_variable_without_name_or_value(option: str, value: str) -> None:
    found = arguments.variables(given(**{option: (value,)}))
    assert [(each.code, each.route) for each in found.diagnostics] == [("A920", ("argument", f"--{option}"))]
    assert found.value is None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("n=4", 4),
        ("n=-4", -4),
        ("n=1_000", 1000),
        ("n= 7 ", 7),
        ("n=0.5", 0.5),
        ("n=1e3", 1000.0),
        ("n=4Gi", "4Gi"),
        ("n=", ""),
        ("n=a=b", "a=b"),
        ("n=true", "true"),
        ("n=0x10", "0x10"),
    ],
)
def test_set(word: str, value: object) -> None:
    found = arguments.variables(given(set=(word,))).value
    assert found == {"n": value}
    assert [type(each) for each in found.values()] == [type(value)]


def test_set_string_wins_and_stays_a_text() -> None:
    found = arguments.variables(given(**{"set-string": ("n=4",), "set": ("n=5", "m=6", "m=7")}))
    assert found.value == {"n": "4", "m": 7}
