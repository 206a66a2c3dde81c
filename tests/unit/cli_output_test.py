"""-o and --check: whole or not at all, only what is ours, only what differs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli import compiling as collisions
from bayplan.cli import output as stdout
from bayplan.cli import output_folder as folder
from bayplan.cli import output_folder as single
from bayplan.kube.pod import COMPUTE_DOMAIN_API
from bayplan.manifests.order import ORDER
from bayplan.model.manifest import Many, Slot

COVERS = {"O802"}


def compute_domain(name: str, channel: str) -> dict[str, Any]:
    """A ComputeDomain, of which the driver makes a channel template."""
    spec = {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": channel}}}
    return {
        "apiVersion": COMPUTE_DOMAIN_API,
        "kind": "ComputeDomain",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": spec,
    }


def config_map(name: str, text: str = "") -> dict[str, Any]:
    """A small object."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": text}}


def codes(found: tuple[Any, ...]) -> list[str]:
    return [each.code for each in found]


def state(path: Path) -> dict[str, tuple[str, int]]:
    """Every file below a folder with its text and time."""
    files = sorted(each for each in path.rglob("*") if each.is_file())
    return {str(each.relative_to(path)): (each.read_text(), each.stat().st_mtime_ns) for each in files}


def failing(number: int) -> Iterator[str]:
    """A text that ends in an error of the system."""
    yield "x" * stdout.CHUNK
    raise OSError(number, os.strerror(number))


class TestOneFile:
    def test_a_new_file(self, tmp_path: Path) -> None:
        assert single.write_single(str(tmp_path / "out.yaml"), ["a", "b"]) == ()
        assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out.yaml", "ab")]

    def test_the_same_bytes_are_not_touched(self, tmp_path: Path) -> None:
        single.write_single(str(tmp_path / "out.yaml"), ["ab"])
        os.utime(tmp_path / "out.yaml", ns=(1, 1))
        before = state(tmp_path)
        assert single.write_single(str(tmp_path / "out.yaml"), ["a", "b"]) == ()
        assert state(tmp_path) == before

    def test_a_changed_file_keeps_its_mode_and_a_link_stays_one(self, tmp_path: Path) -> None:
        (tmp_path / "real.yaml").write_text("old")
        (tmp_path / "real.yaml").chmod(0o640)
        (tmp_path / "link.yaml").symlink_to("real.yaml")
        assert single.write_single(str(tmp_path / "link.yaml"), ["new"]) == ()
        assert (tmp_path / "link.yaml").is_symlink()
        assert (tmp_path / "real.yaml").read_text() == "new"
        assert (tmp_path / "real.yaml").stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
    def test_a_full_disk_changes_nothing(self, number: int, tmp_path: Path) -> None:
        (tmp_path / "out.yaml").write_text("old")
        before = state(tmp_path)
        assert codes(single.write_single(str(tmp_path / "out.yaml"), failing(number))) == ["O802"]
        assert state(tmp_path) == before

    @pytest.mark.parametrize("name", ["gone/out.yaml", "a\0b", "x" * 300])
    def test_a_place_that_cannot_be_written(self, name: str, tmp_path: Path) -> None:
        assert codes(single.write_single(str(tmp_path / name), ["a"])) == ["O802"]
        assert state(tmp_path) == {}

    def test_a_device_is_written_directly(self) -> None:
        assert single.write_single("/dev/null", ["a"]) == ()

    def test_comparing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "out.yaml"
        path.write_text("a: 1\nb: 2\n")
        assert single.compare_single(str(path), ["a: 1\nb: 2\n"]) == ()
        assert codes(single.compare_single(str(path), ["a: 1\nb: 3\n"])) == ["O805"]
        assert capsys.readouterr().out == f"--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n"
        assert path.read_text() == "a: 1\nb: 2\n"


FIRST = {"01-a.yaml": "a\n", "02-b.yaml": "b\n"}


class TestFolder:
    def test_a_new_folder(self, tmp_path: Path) -> None:
        assert folder.write_folder(str(tmp_path / "x/out/"), FIRST) == ()
        assert sorted(state(tmp_path / "x/out")) == [".bayplan-index", "01-a.yaml", "02-b.yaml"]
        assert (tmp_path / "x/out/.bayplan-index").read_text().splitlines()[1:] == ["01-a.yaml", "02-b.yaml"]

    def test_again_touches_nothing(self, tmp_path: Path) -> None:
        folder.write_folder(str(tmp_path), FIRST)
        for each in tmp_path.iterdir():
            os.utime(each, ns=(1, 1))
        before = state(tmp_path)
        assert folder.write_folder(str(tmp_path), FIRST) == ()
        assert state(tmp_path) == before

    def test_only_what_differs_is_written_and_only_what_is_ours_is_removed(self, tmp_path: Path) -> None:
        folder.write_folder(str(tmp_path), FIRST)
        (tmp_path / "03-mine.yaml").write_text("mine")
        (tmp_path / "notes.md").write_text("notes")
        for each in tmp_path.iterdir():
            os.utime(each, ns=(1, 1))
        assert folder.write_folder(str(tmp_path), {"01-a.yaml": "a\n", "02-c.yaml": "c\n"}) == ()
        after = state(tmp_path)
        assert sorted(after) == [".bayplan-index", "01-a.yaml", "02-c.yaml", "03-mine.yaml", "notes.md"]
        assert after["01-a.yaml"] == ("a\n", 1)
        assert after["03-mine.yaml"] == ("mine", 1)

    def test_a_foreign_file_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "02-b.yaml").write_text("mine")
        before = state(tmp_path)
        assert codes(folder.write_folder(str(tmp_path), FIRST)) == ["O804"]
        assert state(tmp_path) == before

    @pytest.mark.parametrize("line", ["../x", "/etc/passwd", "notes.md", "01-a/../../b.yaml", "."])
    def test_an_index_with_a_strange_line(self, line: str, tmp_path: Path) -> None:
        (tmp_path / ".bayplan-index").write_text(f"{line}\n")
        before = state(tmp_path)
        assert codes(folder.write_folder(str(tmp_path), FIRST)) == ["O804"]
        assert codes(folder.compare_folder(str(tmp_path), FIRST)) == ["O804"]
        assert state(tmp_path) == before

    def test_a_listed_file_that_is_gone_is_written_again(self, tmp_path: Path) -> None:
        folder.write_folder(str(tmp_path), FIRST)
        (tmp_path / "01-a.yaml").unlink()
        assert folder.write_folder(str(tmp_path), {"02-b.yaml": "b\n"}) == ()
        assert sorted(state(tmp_path)) == [".bayplan-index", "02-b.yaml"]

    def test_a_full_disk_changes_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.write_folder(str(tmp_path), FIRST)
        before = state(tmp_path)
        synced: list[int] = []

        def full(number: int) -> None:
            synced.append(number)
            if len(synced) == 3:
                raise OSError(errno.ENOSPC, "no space")

        monkeypatch.setattr(os, "fsync", full)
        assert codes(folder.write_folder(str(tmp_path), {"01-a.yaml": "A\n", "03-c.yaml": "c\n"})) == ["O802"]
        assert state(tmp_path) == before
        assert sorted(each.name for each in tmp_path.iterdir()) == sorted(before)

    def test_a_file_where_the_folder_should_be(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("x")
        assert codes(folder.write_folder(str(tmp_path / "out") + "/", FIRST)) == ["O802"]

    def test_comparing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder.write_folder(str(tmp_path), FIRST)
        assert folder.compare_folder(str(tmp_path), FIRST) == ()
        assert codes(folder.compare_folder(str(tmp_path), {"01-a.yaml": "x\n", "03-c.yaml": "c\n"})) == ["O805"]
        shown = capsys.readouterr().out
        assert shown.count("--- ") == 3
        assert f"--- /dev/null\n+++ {tmp_path}/03-c.yaml\n@@ -0,0 +1 @@\n+c\n" in shown
        assert f"--- {tmp_path}/02-b.yaml\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n" in shown

    def test_comparing_with_nothing(self, tmp_path: Path) -> None:
        assert codes(folder.compare_folder(str(tmp_path / "none"), FIRST)) == ["O805"]
        assert not (tmp_path / "none").exists()

    def test_one_file_an_object(self) -> None:
        many = Many({**config_map("x"), "metadata": {"name": Slot(0, "name")}}, [("b-0",), ("b-1",)])
        made = folder.files([config_map("a", "---\nkind: Evil\n"), many, config_map("s3:cr?t")])
        assert list(made) == [
            "15-configmap-a.yaml",
            "15-configmap-b-0.yaml",
            "15-configmap-b-1.yaml",
            "15-configmap-s3-cr-t.yaml",
        ]
        assert "name: b-1\n" in made["15-configmap-b-1.yaml"]
        assert all(folder._OURS(name) for name in made)

    def test_one_object_less_renames_no_other_file(self) -> None:
        maps = [config_map(f"c{n}") for n in range(5)]
        assert set(folder.files(maps[1:])) == set(folder.files(maps)) - {"15-configmap-c0.yaml"}

    def test_one_name_in_several_namespaces_makes_several_files(self) -> None:
        made = folder.files([config_map("c"), config_map("c"), config_map("c")])
        assert list(made) == ["15-configmap-c.yaml", "15-configmap-c--2.yaml", "15-configmap-c--3.yaml"]

    def test_a_name_that_looks_like_a_repeated_one_loses_no_file(self) -> None:
        made = folder.files(
            [config_map("x--2", "1"), config_map("x", "2"), config_map("x", "3"), config_map("x--2", "4")]
        )
        assert list(made) == [f"15-configmap-{name}.yaml" for name in ("x--2", "x", "x--3", "x--2--2")]
        assert [text.count(f"a: '{n}'") + text.count(f'a: "{n}"') for n, text in enumerate(made.values(), 1)] == [1] * 4

    def test_files_sort_as_they_are_applied(self) -> None:
        names = list(folder.files([{"kind": kind, "metadata": {"name": "x"}} for kind in ORDER]))
        assert names == sorted(names)

    def test_names_are_cut_to_what_file_systems_hold(self) -> None:
        (name,) = folder.files([config_map("x" * 253)])
        assert len(name) < 255
        assert folder._OURS(name)


def test_what_a_driver_makes_of_an_object_counts_as_an_object() -> None:
    made = list(collisions.identities(compute_domain("a", "a-channel")))
    assert made == [("ComputeDomain", "ml", "a"), ("ResourceClaimTemplate", "ml", "a-channel")]


def test_each_of_many_counts() -> None:
    many = Many({**config_map("x"), "metadata": {"name": Slot(0, "name"), "namespace": "ml"}}, [("b-0",), ("b-1",)])
    assert list(collisions.identities(many)) == [("ConfigMap", "ml", "b-0"), ("ConfigMap", "ml", "b-1")]


def test_chunks_are_utf_8_and_whole() -> None:
    pieces = ["ü" * (stdout.CHUNK - 1), "b", "c"]
    made = list(stdout.chunks(pieces))
    assert b"".join(made).decode() == "".join(pieces)
    assert len(made) == 2
