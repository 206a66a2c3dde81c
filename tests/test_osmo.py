"""OSMO files from end to end: upstream's own ones, and the use cases of its design in both forms."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.plugins.osmo import sandbox
from judges import UPSTREAM, judge_all
from osmo_texts import in_this_process
from tools import osmo_corpus
from tools.osmo_corpus import KINDS
from tools.run import EXAMPLES, ROOT, bayplan, rendered

FILES = sorted((UPSTREAM / "examples" / "osmo").glob("*.yaml"))

needs_upstream = pytest.mark.skipif(not FILES, reason=f"no OSMO workflows at {UPSTREAM}/examples/osmo")

REFUSED = {
    "skills__osmo-user__evals__files__fixtures__default__workflow_spec_private_image": [("S202", 15)],  # no text
    "skills__osmo-user__evals__files__jinja_workflow": [("R126", 9), ("R126", 10), ("R126", 15)],  # indented defaults
    "test__workflow__bad_command": [("S206", 21)],  # no entry
    "test__workflow__empty_command": [("S204", 19)],  # no key
    "test__workflow__invalid_mount": [("W483", 23)],  # no platform allows it
    "test__workflow__scripts__app_spec": [("S202", 14)],  # a text where a list is due
    "test__workflow__template_unsafe": [("R127", 21)],  # reaches for __class__
}
"""What OSMO refuses: the codes and lines of bayplan's errors. All other files render."""

TWICE = {"cookbook__integration_and_tools__github__github", "test__workflow__parallel_workflow_multi_groups"}
"""Files in which a key stands twice. OSMO keeps the last; they may not be among the files at hand."""

VARIABLES = {"storage_url": "s3://bucket/data", "num_gpu": "2", "platform": "dgx-h100"}
"""What the files leave to `--set`."""

PLATFORMS = ("agx-orin-jp6", "dgx-h100", "orin-nano-jp6", "ovx-a40", "ovx-l40")

TARGET = {"kubernetes": "1.34", "kai": "0.17", "jobset": "0.12"}


def topology() -> dict[str, Any]:
    """A cluster that is large enough, with a pool for each platform."""
    node = {"accelerator": "gpu", "count": 8, "cpu": "512", "memory": "4000Gi"}
    pools = [
        {
            "name": name,
            "node": {**node, "nodeSelector": {"example.com/pool": name}},
            "levels": [{"name": "rack", "label": "example.com/rack"}],
            "domains": [{"path": f"{name}-r1", "nodes": f"{name}-[01-40]"}],
        }
        for name in ("main", *PLATFORMS)
    ]
    defaults = {"scheduler": "kai", "namespace": "ml", "queue": "research", "pool": "main"}
    kind = {"gpu": {"vendor": "nvidia", "allocator": "device-plugin", "resources": {"count": "nvidia.com/gpu"}}}
    spec = {"versions": TARGET, "defaults": defaults, "pools": pools, "accelerators": kind}
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "osmo"},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files, a stub for each of their local files, and the topology."""
    made: Path = tmp_path_factory.mktemp("osmo")
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        (made / file.name).write_text(text, encoding="utf-8")
        for path in re.findall(r"localpath: *(\S+)", text):
            (made / path).parent.mkdir(exist_ok=True)
            (made / path).write_text("echo stub\n", encoding="utf-8")
    (made / "topology.yaml").write_text(yaml.safe_dump(topology()), encoding="utf-8")
    return made


def arguments(file: Path) -> list[str]:
    """The topology, and those variables that the file uses and does not give itself."""
    text = file.read_text(encoding="utf-8")
    used = [name for name in VARIABLES if re.search(rf"{{{{ *{name} *}}}}", text) and f"{name}:" not in text]
    return ["-t", "topology.yaml", *(word for name in used for word in ("--set", f"{name}={VARIABLES[name]}"))]


@needs_upstream
@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in REFUSED], ids=lambda file: file.stem)
def test_what_osmo_takes_renders(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "run", in_this_process)
    result = bayplan("render", file.name, *arguments(file), cwd=folder)
    assert result.returncode == 0, result.stderr
    assert judge_all(yaml.load_all(result.stdout, yaml.CSafeLoader), TARGET) == []
    assert "error[" not in result.stderr
    assert ("warning[R110]" in result.stderr) == (file.stem in TWICE)
    native = rendered("import", file.name, *arguments(file), cwd=folder)
    (folder / f"{file.stem}.native").write_text(native, encoding="utf-8")
    again = bayplan("render", f"{file.stem}.native", "-t", "topology.yaml", cwd=folder)
    assert again.stdout == result.stdout, again.stderr


SERIAL = {
    "cookbook__tutorials__combination_workflow_simple",
    "cookbook__tutorials__serial_workflow",
    "test__workflow__folder_input",
    "test__workflow__per_group_exec_timeout",
    "test__workflow__serial_workflow",
    "test__workflow__serial_workflow_mount",
}
"""Files with groups that wait for others. That takes a JobSet, whose pods KAI below 0.15 groups by itself. There, each
group is rendered by itself."""


@needs_upstream
@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in REFUSED], ids=lambda file: file.stem)
def test_the_kai_that_osmo_installs_takes_everything_and_serial_groups_one_by_one(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "run", in_this_process)
    command = ["render", file.name, *arguments(file), "--target", "kai=0.14"]
    results = [bayplan(*command, cwd=folder)]
    if file.stem in SERIAL:
        assert results[0].returncode == 1
        assert (
            "hint: render the gangs separately with `--gang NAME`, and start one after the other" in results[0].stderr
        )
        native = yaml.load(rendered("import", file.name, *arguments(file), cwd=folder), yaml.CSafeLoader)
        results = [bayplan(*command, "--gang", gang["name"], cwd=folder) for gang in native["spec"]["gangs"]]
    for result in results:
        assert result.returncode == 0, result.stderr
        assert judge_all(yaml.load_all(result.stdout, yaml.CSafeLoader), {**TARGET, "kai": "0.14"}) == []


@needs_upstream
@pytest.mark.parametrize("name", REFUSED)
def test_what_osmo_refuses_is_refused_at_its_place(name: str, folder: Path) -> None:
    result = bayplan("check", f"{name}.yaml", "-t", "topology.yaml", cwd=folder)
    assert result.returncode == 1
    errors = re.findall(rf"^{re.escape(name)}.yaml:(\d+):\d+: error\[(\w+)\]", result.stdout, re.M)
    assert [(code, int(line)) for line, code in errors] == REFUSED[name]
    assert result.stdout.count("\n  hint: ") >= len(errors)


@needs_upstream
def test_the_table_knows_the_files() -> None:
    assert set(REFUSED) <= {file.stem for file in FILES}


# --- the use cases of the design --------------------------------------------------------------------------------------

USE_CASES = sorted(path.parent.name for path in EXAMPLES.glob("*/osmo.yaml"))


def test_there_are_use_cases() -> None:
    assert len(USE_CASES) >= 5


@pytest.mark.parametrize("name", USE_CASES)
def test_both_forms_of_a_use_case_render_to_the_same_bytes(name: str) -> None:
    folder = EXAMPLES / name
    native = rendered("render", "workflow.yaml", "-t", "topology.yaml", cwd=folder)
    assert rendered("render", "osmo.yaml", "-t", "topology.yaml", cwd=folder) == native


@pytest.mark.parametrize("name", USE_CASES)
def test_both_forms_of_a_use_case_import_alike(name: str) -> None:
    folder = EXAMPLES / name
    native = rendered("import", "workflow.yaml", "-t", "topology.yaml", cwd=folder)
    assert rendered("import", "osmo.yaml", "-t", "topology.yaml", cwd=folder) == native


PLAIN = {
    "workflow": {"name": "train", "tasks": [{"name": "main", "image": "example.com/train:1", "command": ["train"]}]}
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAIN),
        json.dumps(PLAIN, indent=2),
        yaml.safe_dump(PLAIN, indent=2).replace("workflow:", '"workflow":'),
    ],
    ids=["json", "indented json", "quoted"],
)
def test_a_file_that_is_no_template_may_have_any_form(text: str, tmp_path: Path) -> None:
    """OSMO's client reads it as YAML, and sends what it read in OSMO's own form."""
    expected = import_text(yaml.safe_dump(PLAIN), tmp_path)
    assert import_text(text, tmp_path) == expected
    assert import_text("\n".join(f"  {line}" for line in text.splitlines()), tmp_path) == expected


def import_text(text: str, folder: Path) -> str:
    (folder / "workflow.yaml").write_text(text, encoding="utf-8")
    done = bayplan("import", "workflow.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_platform_without_a_name_is_that_of_the_pool(tmp_path: Path) -> None:
    flow = {"workflow": {**PLAIN["workflow"], "resources": {"default": {"platform": ""}}}}
    (tmp_path / "workflow.yaml").write_text(yaml.safe_dump(flow), encoding="utf-8")
    pool = {"pools": {"hall": {"backend": "east", "default_platform": "gb200", "platforms": {"gb200": {}}}}}
    (tmp_path / "pool.yaml").write_text(yaml.safe_dump(pool), encoding="utf-8")
    native = yaml.safe_load(rendered("import", "workflow.yaml", "--osmo-pool", "pool.yaml", cwd=tmp_path))
    assert native["spec"]["gangs"][0]["podSets"][0]["pool"] == "gb200"


def test_the_page_lists_the_differences_that_the_corpus_allows() -> None:
    page = (ROOT / "docs" / "reference" / "osmo.md").read_text(encoding="utf-8")
    rows = dict(
        re.findall(r"^\| (.+) \| ([A-Z0-9, ]+) \|$", page.partition("## Differences from OSMO")[2], re.MULTILINE)
    )
    kinds = {kind.title: [each.code for each in KINDS if each.title == kind.title] for kind in KINDS}
    assert {title: sorted(codes.split(", ")) for title, codes in rows.items()} == {
        title: sorted(set(codes)) for title, codes in kinds.items()
    }


OSMO, PYTHON = os.environ.get("BAYPLAN_OSMO", ""), os.environ.get("BAYPLAN_OSMO_PYTHON", sys.executable)


@pytest.mark.skipif(not OSMO, reason="no checkout of OSMO in BAYPLAN_OSMO")
def test_changed_files_are_read_as_osmo_reads_them(tmp_path: Path) -> None:
    results = list(osmo_corpus.run(Path(OSMO), PYTHON, 100, 1, tmp_path.resolve()))
    assert [each for each in results if each.outcome.startswith("FAULT")] == []
    assert Counter(each.outcome for each in results)["equal"] > 20


def test_files_that_are_too_large_for_one_config_map_get_several(tmp_path: Path) -> None:
    (task,) = PLAIN["workflow"]["tasks"]  # type: ignore[index]
    files = [{"path": f"opt/data-{number}", "contents": "x" * 700_000} for number in range(3)]
    flow = {"workflow": {"name": "train", "tasks": [{**task, "files": files}]}}
    (tmp_path / "workflow.yaml").write_text(yaml.safe_dump(flow), encoding="utf-8")
    (tmp_path / "topology.yaml").write_text(yaml.safe_dump(topology()), encoding="utf-8")
    documents = list(yaml.safe_load_all(bayplan("render", "workflow.yaml", "-t", "topology.yaml", cwd=tmp_path).stdout))
    maps = {each["metadata"]["name"]: list(each["data"]) for each in documents if each["kind"] == "ConfigMap"}
    assert list(maps.values()) == [["opt.data-0"], ["opt.data-1"], ["opt.data-2"]]
    job_set = documents[-1]
    pod = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    sources = pod["volumes"][0]["projected"]["sources"]
    assert [source["configMap"]["name"] for source in sources] == list(maps)
    mounts = pod["containers"][0]["volumeMounts"]
    assert [(mount["mountPath"], mount["subPath"]) for mount in mounts] == [
        (f"/opt/data-{number}", f"opt.data-{number}") for number in range(3)
    ]
    assert not FILES or judge_all(documents, TARGET) == []
