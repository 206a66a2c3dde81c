"""The functions of `import bayplan`: what the command line prints, for programs, and a surface that stays."""

from __future__ import annotations

import gc
import inspect
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bayplan
from bayplan.backends import BACKENDS
from test_packaging import checkout, run, wheel
from tools.data import parse_all
from tools.effort import thorough
from tools.golden import ACCEPTED, SCRIPTS, VERSIONS, Case, comments, examples
from tools.run import EXAMPLES, ROOT
from tools.run import bayplan as command

PRETRAIN = EXAMPLES / "pretrain"
SIGNATURES = ROOT / "tests" / "unit" / "api.txt"
"""What the public functions and values take. A change of it is a change for programs: write it into CHANGELOG.md."""

__all__ = ("checkout",)  # a fixture


def signatures() -> str:
    """A line for each public name, and one for each member of a value."""
    lines = []
    for name in bayplan.__all__:
        value = getattr(bayplan, name)
        if isinstance(value, str):
            continue
        taken = f"({', '.join(value._fields)})" if hasattr(value, "_fields") else str(inspect.signature(value))
        lines.append(f"{name}{taken}")
        own = vars(value) if isinstance(value, type) else {}
        for member, made in own.items():
            if isinstance(made, property):
                lines.append(f"{name}.{member} -> {inspect.signature(made.fget).return_annotation}")  # type: ignore[arg-type]
            elif inspect.isfunction(made) and not member.startswith("_"):
                lines.append(f"{name}.{member}{inspect.signature(made)}")
    text = "".join(f"{line}\n" for line in lines).replace(repr(bayplan.Options()), "Options()")
    return re.sub(r"(?<=: |> )'([^']+)'", r"\1", text)


def test_the_public_surface_is_the_one_of_the_file() -> None:
    assert signatures() == SIGNATURES.read_text(encoding="utf-8")


def test_every_public_name_has_a_docstring() -> None:
    functions = [getattr(bayplan, name) for name in bayplan.__all__ if name != "__version__"]
    assert [each for each in functions if not (each.__doc__ or "").strip()] == []


def test_other_names_are_none_of_the_package() -> None:
    with pytest.raises(AttributeError, match="module 'bayplan' has no attribute 'unknown'"):
        _ = bayplan.unknown  # type: ignore[attr-defined]


@pytest.mark.parametrize("backend", BACKENDS)
def test_render_is_what_the_golden_files_hold(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes and the same findings, for every example."""
    different = []
    for example in examples():
        case = Case(backend, VERSIONS[backend][-1], example)
        monkeypatch.chdir(EXAMPLES / example)
        options = bayplan.Options(
            scheduler=backend, target={case.component: case.version}, accept=ACCEPTED.get(backend, ())[1:]
        )
        try:
            workflows, topology = bayplan.load("workflow.yaml"), bayplan.load_topology("topology.yaml")
            made = bayplan.render(workflows, topology, options, cluster_objects=backend not in SCRIPTS)
            found, text = made.findings, "" if backend in SCRIPTS and len(made.files) > 1 else made.text
        except bayplan.Invalid as problem:
            found, text = problem.findings, ""
        report = comments(case, bayplan.report_text(found))
        golden = case.path.read_text(encoding="utf-8")
        head, _, _ = golden.partition("\n#!") if backend in SCRIPTS else (golden, "", "")
        said = "".join(f"{line}\n" for line in head.splitlines() if line.startswith("# "))
        different += [example] if not said.startswith(report) or text not in golden else []
        assert text or made_nothing(golden) or backend in SCRIPTS, example
    assert different == []


def made_nothing(golden: str) -> bool:
    """Whether the render was refused."""
    return all(line.startswith("#") for line in golden.splitlines())


def test_answers_are_those_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PRETRAIN)
    workflows, topology = bayplan.load("workflow.yaml"), bayplan.load_topology("topology.yaml")
    plans, files = bayplan.plan(workflows, topology), ["workflow.yaml", "-t", "topology.yaml"]
    for form in ("tree", "table", "json", "csv", "svg", "html"):
        assert plans.show(form) == command("plan", *files, "--format", form, cwd=PRETRAIN).stdout
    assert plans.data == json.loads(plans.show("json"))
    for given in ((), ("workflow.yaml",)):
        answer = bayplan.capacity(topology, workflows if given else None)
        arguments = ("capacity", *given, "-t", "topology.yaml")
        assert answer.text == command(*arguments, cwd=PRETRAIN).stdout
        assert answer.data == json.loads(command(*arguments, "--format", "json", cwd=PRETRAIN).stdout)
    only = bayplan.capacity(topology, level="rack").text
    assert only == command("capacity", "-t", "topology.yaml", "--level", "rack", cwd=PRETRAIN).stdout
    assert bayplan.explain("P555") == command("explain", "P555").stdout


RACK, MORE = "rack=8c1f-a1.1", "gb200+2 racks"


def test_what_if_and_slack_are_those_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PRETRAIN)
    workflows, topology = bayplan.load("workflow.yaml"), bayplan.load_topology("topology.yaml")
    other = topology.what_if(more=[MORE], without=[RACK, "gb-a2-n[01-04]"])
    options = ("-t", "topology.yaml", "--with", MORE, "--without", RACK, "--without", "gb-a2-n[01-04]")
    shown = {}
    for slack in (False, True):
        plans = bayplan.plan(workflows, other, slack=slack)
        for form in ("tree", "json", "csv"):
            words = ("plan", "workflow.yaml", *options, "--format", form, *(["--slack"] if slack else []))
            shown[slack, form] = plans.show(form)
            assert shown[slack, form] == command(*words, cwd=PRETRAIN).stdout
    assert "without rack=8c1f-a1.1" in shown[False, "tree"]
    assert "\nslack\n" in shown[True, "tree"]
    assert shown[False, "csv"] != bayplan.plan(workflows, topology).show("csv")
    for given in ((), ("workflow.yaml",)):
        answer = bayplan.capacity(other, workflows if given else None)
        assert answer.text == command("capacity", *given, *options, cwd=PRETRAIN).stdout
        assert answer.data == json.loads(command("capacity", *given, *options, "--format", "json", cwd=PRETRAIN).stdout)
    assert other == topology.what_if(more=[MORE]).what_if(without=[RACK, "gb-a2-n[01-04]"])
    for wrong in ({"more": ["gb200+x racks"]}, {"without": [MORE]}):
        with pytest.raises(bayplan.Invalid, match="A920") as raised:
            topology.what_if(**wrong)
        (option,) = ("--with" if key == "more" else "--without" for key in wrong)
        done = command(
            "plan", "workflow.yaml", "-t", "topology.yaml", option, *next(iter(wrong.values())), cwd=PRETRAIN
        )
        assert f"{raised.value}\n" == done.stderr
    with pytest.raises(ValueError, match="what_if"):
        bayplan.lint(bayplan.loads_manifests("kind: Pod"), other)
    half = topology.what_if(without=[f"rack=8c1f-{side}{rack}.1" for side in "ab" for rack in range(2, 7)])
    assert [each.code for each in bayplan.check(workflows, half) if each.severity == "error"] == ["P551"]
    contradicting = bayplan.load("workflow.yaml", "workflow.yaml")
    with pytest.raises(bayplan.Invalid, match="A920"):
        bayplan.plan(contradicting, topology, together=True, slack=True)


def test_osmo_pools_are_those_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = EXAMPLES / "osmo-one-rack"
    monkeypatch.chdir(folder)
    topology = bayplan.load_topology("topology.yaml")
    words = ("osmo.yaml", "-t", "topology.yaml", "--osmo-pool")
    for wrong in ("pool.yaml#none", "missing.yaml"):
        with pytest.raises(bayplan.Invalid) as raised:
            bayplan.load("osmo.yaml", osmo_pool=wrong)
        assert f"{raised.value}\n" == command("render", *words, wrong, cwd=folder).stderr
    words = (*words, "pool.yaml")
    made = bayplan.render(bayplan.load("osmo.yaml", osmo_pool="pool.yaml"), topology)
    assert made.text == command("render", *words, cwd=folder).stdout
    assert bayplan.report_text(made.findings) == command("check", *words, "-v", cwd=folder).stdout
    assert bayplan.render(bayplan.load("osmo.yaml"), topology).text != made.text
    useless = bayplan.load(PRETRAIN / "workflow.yaml", osmo_pool=folder / "pool.yaml")
    assert [each.code for each in useless.findings] == ["A931"]


def test_plans_of_manifests_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workflows, topology = bayplan.load(PRETRAIN / "workflow.yaml"), bayplan.load_topology(PRETRAIN / "topology.yaml")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "all.yaml").write_text(bayplan.render(workflows, topology).text, encoding="utf-8")
    for name in ("other", "third"):
        (tmp_path / f"{name}.yaml").write_text(NAMED.format(name), encoding="utf-8")
    manifests, options = bayplan.load_manifests("job"), ("-t", str(PRETRAIN / "topology.yaml"))
    assert (
        bayplan.plan(None, topology, manifests=manifests).show()
        == command("plan", "job", *options, cwd=tmp_path).stdout
    )
    assert bayplan.plan(bayplan.load("other.yaml"), topology, manifests=manifests).show() == (
        command("plan", "job", "other.yaml", *options, cwd=tmp_path).stdout
    )
    for names in ((), ("other.yaml",), ("other.yaml", "third.yaml")):
        found = bayplan.check(bayplan.load(*names) if names else None, topology, manifests=manifests)
        assert bayplan.report_text(found) == command("check", "job", *names, *options, "-v", cwd=tmp_path).stdout
    assert [each.code for each in found if each.severity == "error"] == ["P566"]
    (tmp_path / "job" / "flow.yaml").write_text(NAMED.format("fourth"), encoding="utf-8")
    with pytest.raises(bayplan.Invalid, match="A912"):
        bayplan.plan(None, topology, manifests=bayplan.load_manifests("job"))
    with pytest.raises(ValueError, match="topology"):
        bayplan.check(None, manifests=manifests)


def test_objects_and_files_are_those_of_the_text() -> None:

    made = bayplan.render(bayplan.load(PRETRAIN / "workflow.yaml"), bayplan.load_topology(PRETRAIN / "topology.yaml"))
    assert list(made.objects) == list(parse_all(made.text))
    assert "".join(f"---\n{text}" for text in made.files.values()) in (made.text, f"---\n{made.text}")


NAMED = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8").replace("name: pretrain,", "name: {0},")
NAMED = NAMED.replace("{", "{{").replace("}", "}}").replace("{{0}}", "{0}")
MISFIT = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8").replace("replicas: 16", "replicas: 18")


def test_invalid_says_what_the_command_line_says(tmp_path: Path) -> None:
    (tmp_path / "misfit.yaml").write_text(MISFIT, encoding="utf-8")
    topology = bayplan.load_topology(PRETRAIN / "topology.yaml")
    with pytest.raises(bayplan.Invalid) as raised:
        bayplan.render(bayplan.loads(MISFIT, "misfit.yaml"), topology)
    done = command("render", "misfit.yaml", "-t", str(PRETRAIN / "topology.yaml"), cwd=tmp_path)
    assert f"{raised.value}\n" == done.stderr
    (finding,) = raised.value.findings
    assert (finding.code, finding.severity) == ("P555", "error")
    assert finding.place is not None
    assert finding.place[:3] == ("misfit.yaml", 13, 29)
    assert f"{finding}\n1 error\n" == done.stderr
    assert bayplan.check(bayplan.loads(MISFIT, "misfit.yaml"), topology) == (finding,)
    for form in ("json", "github", "sarif"):
        reported = command(
            "check", "misfit.yaml", "-t", str(PRETRAIN / "topology.yaml"), "--diagnostics", form, cwd=tmp_path
        )
        assert bayplan.report_text([finding], form).strip() == reported.stdout.strip().replace(f"{tmp_path}/", "")


def test_check_without_a_topology_judges_the_workflow_alone() -> None:
    assert bayplan.check(bayplan.loads(MISFIT)) == ()
    (finding,) = bayplan.check(bayplan.loads(MISFIT.replace("replicas: 18", "replicas: 0"), "w.yaml"))
    assert (finding.severity, finding.place and finding.place.file) == ("error", "w.yaml")


def test_several_workflows_must_fit_at_the_same_time(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.yaml" for name in "abc"]
    for path in paths:
        path.write_text((PRETRAIN / "workflow.yaml").read_text("utf-8").replace("name: pretrain", f"name: {path.stem}"))
    workflows, topology = bayplan.load(*paths), bayplan.load_topology(PRETRAIN / "topology.yaml")
    assert [each.severity for each in bayplan.check(workflows, topology) if each.severity == "error"] != []
    assert [each for each in bayplan.check(workflows, topology, alone=True) if each.severity == "error"] == []
    with pytest.raises(bayplan.Invalid):
        bayplan.plan(workflows, topology, together=True)
    assert len(bayplan.render(workflows, topology).objects) == 3 * len(
        bayplan.render(bayplan.load(paths[0]), topology).objects
    )


def test_lint_finds_what_the_command_line_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [each for each in (ROOT / "tests" / "cases").glob("M*") if (each / "manifests.yaml").exists()][:40]
    assert len(folders) == 40
    for folder in folders:
        monkeypatch.chdir(folder)
        try:
            found = bayplan.lint(bayplan.load_manifests("manifests.yaml"))
        except bayplan.Invalid as problem:
            found = problem.findings
        assert bayplan.report_text(found) == command("lint", "manifests.yaml", "-v", cwd=folder).stdout


def test_errors_of_files_and_options_are_findings(tmp_path: Path) -> None:
    with pytest.raises(bayplan.Invalid, match=r"R101"):
        bayplan.load(tmp_path / "missing.yaml")
    with pytest.raises(bayplan.Invalid, match=r"R101"):
        bayplan.load_topology("-")
    with pytest.raises(bayplan.Invalid, match=r"A912"):
        bayplan.load_topology(PRETRAIN / "workflow.yaml")
    with pytest.raises(bayplan.Invalid, match=r"R106"):
        bayplan.loads_manifests("")
    workflows, topology = bayplan.load(PRETRAIN / "workflow.yaml"), bayplan.load_topology(PRETRAIN / "topology.yaml")
    with pytest.raises(bayplan.Invalid, match=r"A904"):
        bayplan.render(workflows, topology, bayplan.Options(target={"kia": "0.17"}))
    with pytest.raises(bayplan.Invalid, match=r"A920"):
        bayplan.plan(workflows, topology, bayplan.Options(accept=["P555"]))
    with pytest.raises(ValueError, match="unknown form"):
        bayplan.plan(workflows, topology).show("pdf")
    with pytest.raises(ValueError, match="unknown form"):
        bayplan.report_text((), "xml")
    assert [each.code for each in bayplan.check(workflows, topology, together=True, alone=True)] == ["A920"]


def test_a_text_reads_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text may come from somebody else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("LR\n1\n", encoding="utf-8")
    text = MISFIT.replace("  gangs:\n", "  gangs:\n", 1)
    start = text.index("- name: train")
    text = f"{text[:start]}- name: train\n    matrix: {{file: runs.csv}}{text[start + len('- name: train') :]}"
    found = bayplan.check(bayplan.loads(text))
    assert ["the workflow comes without files beside it" in each.message for each in found] == [True]
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    assert bayplan.check(bayplan.load("w.yaml")) == ()


def test_threads_render_at_the_same_time() -> None:
    topology = bayplan.load_topology(PRETRAIN / "topology.yaml")
    names = ["kai", "kueue", "koordinator", "slurm"]

    def rendered(name: str) -> str:
        made = bayplan.render(bayplan.load(PRETRAIN / "workflow.yaml"), topology, bayplan.Options(scheduler=name))
        return "".join(made.files.values())

    expected = [rendered(name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(rendered, names * 4)] == expected * 4
    assert gc.isenabled()


PURE = """
import os, sys
import bayplan
assert "bayplan.api" not in sys.modules and "bayplan.pipeline" not in sys.modules
topology = bayplan.load_topology(sys.argv[1] + "/topology.yaml")
workflows = bayplan.load(sys.argv[1] + "/workflow.yaml")
manifests = bayplan.loads_manifests(bayplan.render(workflows, topology).text)
class Closed:
    def __getattr__(self, name): raise AssertionError(name)
os.environ = sys.stdin = sys.stdout = Closed()
os.getcwd = open = None
bayplan.render(workflows, topology).text
bayplan.plan(workflows, topology).show()
bayplan.capacity(topology, workflows)
bayplan.check(workflows, topology, manifests=manifests)
bayplan.plan(None, topology.what_if(without=["rack=8c1f-a1.1"]), manifests=manifests, slack=True).show()
os._exit(0)
"""


def test_it_uses_no_environment_and_no_streams(tmp_path: Path) -> None:
    (tmp_path / "bayplan.yaml").write_text("not a project", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "generator"), "BAYPLAN_LIMIT": "bytes=1"}
    done = subprocess.run(
        [sys.executable, "-c", PURE, str(PRETRAIN)], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SCRIPT = """
import bayplan

topology: bayplan.Topology = bayplan.load_topology("topology.yaml")
workflows = bayplan.load("workflow.yaml", variables={"N": 3})
options = bayplan.Options(scheduler="kai", target={"kai": "0.17"}, accept=["F626"])
try:
    made: bayplan.Rendered = bayplan.render(workflows, topology, options)
    text: str = made.text
except bayplan.Invalid as invalid:
    lines: list[int] = [each.place.line for each in invalid.findings if each.place]
    first: bayplan.Finding = invalid.findings[0]
kinds: list[str] = [each["kind"] for each in bayplan.render(workflows, topology).objects]
version: str = bayplan.__version__
plans: bayplan.Plans = bayplan.plan(workflows, topology.what_if(more=["gb200+4 racks"], without=["n1"]), slack=True)
plans = bayplan.plan(None, topology, manifests=bayplan.load_manifests("manifests"))
workflows = bayplan.load("osmo.yaml", osmo_pool="pool.yaml#a")
"""
WRONG = SCRIPT + "bayplan.render(topology, workflows)\nbayplan.rendre\nbayplan.Options(schedular='kai')\n"


@thorough
def test_mypy_checks_programs_that_use_the_wheel(checkout: Path, tmp_path: Path) -> None:
    """py.typed and the public names are in the installed package."""
    installed = wheel(checkout, tmp_path)
    scripts = {"right.py": SCRIPT, "wrong.py": WRONG}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    judge = [sys.executable, "-m", "mypy", "--strict", "--python-executable", *installed.python, "--cache-dir", "cache"]
    assert run([*judge, "right.py"], tmp_path) == "Success: no issues found in 1 source file\n"
    done = subprocess.run([*judge, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert [line.split(":")[1] for line in lines[:-1]] == ["18", "18", "19", "20", "20"], done.stdout
