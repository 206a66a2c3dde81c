"""What the commands print: explain, schema, schedulers, init, completion, plan, and several workflows at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bayplan.backends import BACKENDS
from bayplan.cli import explain as fields
from bayplan.cli.commands import SCHEMAS, SHELLS
from bayplan.cli.run import run
from bayplan.model.backend import FEATURES
from bayplan.model.target import KNOWN
from bayplan.report.codes import sections
from tools.data import parse_all
from tools.run import EXAMPLES, PRETRAIN, ROOT, environment

ON = ["-t", f"{PRETRAIN}/topology.yaml"]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line that must succeed; its standard output."""

    def call(*argv: str) -> str:
        code = run(argv)
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return call


class TestExplain:
    def test_every_code_as_its_section_and_no_more(self, said: Any) -> None:
        """What is printed ends where the section ends: no heading of the next section or page, and no text of it."""
        headings = 0
        for page in sorted((ROOT / "docs" / "reference" / "diagnostics").glob("*.md")):
            _, *told = re.split(r"^#+ (?=[A-Z]\d\d\d: )", page.read_text("utf-8"), flags=re.MULTILINE)
            for section in told:
                printed = said("explain", section[:4])
                assert printed == section.rstrip("\n") + "\n"
                assert not re.search(r"^#", printed, re.MULTILINE), printed
            headings += len(told)
        assert headings == len(sections())

    def test_codes_in_any_case(self, said: Any) -> None:
        assert said("explain", "r101") == said("explain", "R101")

    def test_every_field_with_its_type_its_description_and_its_keys(self) -> None:
        for field in fields.all_fields():
            heading, blank, described, *below = (fields.explain(field.name) or "").splitlines()
            assert re.fullmatch(rf"{re.escape(field.name)}: [a-z ]+", heading), heading
            assert (blank, described) == ("", field.schema["description"])
            listed = "\n".join(below).partition("keys:\n")[2]
            keys = {line.split()[0] for line in listed.splitlines() if line}
            assert {each.path[-1] for each in fields.all_fields() if each.path[:-1] == field.path} <= keys

    @pytest.mark.parametrize(
        ("asked", "name"),
        [
            ("placement", "workflow.spec.gangs.placement"),
            ("gangs.placement.required", "workflow.spec.gangs.placement.required"),
            ("workflow.gangs.groups.placement", "workflow.spec.gangs.groups.placement"),
            ("spec.gangs[0].placement", "workflow.spec.gangs.placement"),
            ("topology.pools", "topology.spec.pools"),
            ("workflow", "workflow"),
            ("levels.nvlink", "topology.spec.pools.levels.nvlink"),
        ],
    )
    def test_fields_by_part_of_their_path(self, asked: str, name: str, said: Any) -> None:
        assert said("explain", asked).startswith(f"{name}: ")

    @pytest.mark.parametrize("asked", ["", ".", "spec.", "nothing.at.all", "\x1b"])
    def test_what_is_nothing(self, asked: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["explain", asked]) == 2
        assert "error[A920]" in capsys.readouterr().err


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_prints_the_shipped_file(name: str, said: Any) -> None:
    text = said("schema", name)
    assert text == (ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    assert json.loads(text)["description"]


class TestSchedulers:
    def test_the_table_has_every_feature_and_scheduler(self, said: Any) -> None:
        head, *rows = said("schedulers").splitlines()
        assert head.split()[::2] == list(BACKENDS)
        assert [re.split(r"  +", row)[0] for row in rows] == [feature.meaning for feature in FEATURES.values()]
        for (name, _), row in zip(FEATURES.items(), rows, strict=True):
            _, *cells = re.split(r"  +", row)
            for backend, cell in zip(BACKENDS.values(), cells, strict=True):
                of_it = [each for each in backend.declared.support if each.feature == name]
                if len(of_it) == 1 and not (of_it[0].component or of_it[0].up_to):
                    assert cell == {"exact": "yes", "approximate": "partly"}.get(of_it[0].fidelity, of_it[0].word)

    @pytest.mark.parametrize("name", BACKENDS)
    def test_one_in_full(self, name: str, said: Any) -> None:
        """A line for each row, then its reason and its hint; the rows of a feature are in their order."""
        text = said("schedulers", name)
        for feature, about in {**FEATURES, **BACKENDS[name].declared.features}.items():
            start = 0
            for row in (each for each in BACKENDS[name].declared.support if each.feature == feature):
                word = row.word or {"exact": "yes", "approximate": "partly"}[row.fidelity]
                told = (f"{'':22}{line}\n" for line in (row.reason, row.hint and f"hint: {row.hint}") if line)
                block = rf"  {word:<20}{re.escape(about.meaning)}(?: \([^\n]*\))?\n{re.escape(''.join(told))}"
                found = re.compile(block).search(text, start)
                assert found, block
                start = found.end()

    @pytest.mark.parametrize("name", BACKENDS)
    def test_one_lists_the_support_of_existing_workloads(self, name: str, said: Any) -> None:
        _, _, there = said("schedulers", name).partition("\nexisting workloads\n")
        rows = re.findall(
            r"^  (?:yes|no|partly|not yet upstream|not yet in bayplan) +([^(:]+): [a-z, -]+(?: \(.*\))?$",
            there,
            re.MULTILINE,
        )
        assert list(dict.fromkeys(rows)) == [
            "placed as one gang",
            "groups that are Jobs of one template",
            "groups of neighbouring ranks of one template",
            "several gangs with one template",
        ]


def test_init_writes_what_renders(tmp_path: Path, said: Any) -> None:
    folder = tmp_path / "new" / "job"
    line = said("init", str(folder)).split()
    names = [".bayplan", "bayplan.yaml", "topology.yaml", "workflow.yaml"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert line[0] == "bayplan"
    assert said(*line[1:]).count("kind: ComputeDomain\n") == 4


def test_init_writes_both_or_none(tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text("mine")
    assert run(["init", str(tmp_path)]) == 1
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("topology.yaml", "mine")]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_registered_for_bayplan(shell: str, said: Any) -> None:
    lines = {
        "bash": "complete -o nosort -F _bayplan_completion bayplan",
        "zsh": "compdef _bayplan_completion bayplan",
        "fish": 'complete --no-files --command bayplan --arguments "(_bayplan_completion)"',
    }
    assert lines[shell] in [line.strip(" ;") for line in said("completion", shell).splitlines()]


COMPLETED = {
    "bayplan topology e": ["export"],
    "bayplan check w.yaml -s k": ["kai", "kueue", "koordinator"],
    "bayplan check -s al": ["all"],
    "bayplan render -s al": [],
    "bayplan render --scheduler = slurm-": ["slurm-bridge"],
    "bayplan render --target kai = 0.1": ["0.10", "0.12", "0.13", "0.14", "0.15", "0.16", "0.17", "0.18"],
    "bayplan render --target = kai = 0.17,jobset = 0.8": ["0.8"],
    "bayplan render --target kai = 0.17,draD": [f"0.17,draDriver={each}" for each in KNOWN["draDriver"]],
    "bayplan render --fail-on P52": [code for code in sections() if code.startswith("P52")],
    "bayplan render --accept F67": [code for code in sections() if code.startswith("F67")],
    "bayplan check --diagnostics s": ["sarif"],
    "bayplan check --from t": ["torchx"],
    f"bayplan plan {EXAMPLES}/pipeline/workflow.yaml --gang e": ["evaluate"],
    f"bayplan render -t {PRETRAIN}/topology.yaml -n m": ["ml"],
    f"bayplan topology show {PRETRAIN}/topology.yaml --level ''": ["zone", "spine", "rack"],
    "bayplan topology show missing.yaml --level ''": [],
    "bayplan topology import --from nod": ["nodes"],
    "bayplan topology import --preset gk": ["gke"],
    "bayplan topology export --to kueue": ["kueue"],
    "bayplan init --accelerator gb": ["gb200", "gb300"],
    "bayplan explain workflow.spec.gangs.pl": [
        "workflow.spec.gangs.placement",
        "workflow.spec.gangs.placement.required",
        "workflow.spec.gangs.placement.preferred",
    ],
    "bayplan explain P55": [code for code in sections() if code.startswith("P55")],
    "bayplan schema o": ["osmo-workflow", "osmo-pool"],
    "bayplan schedulers su": ["sunk"],
}
"""Words as bash splits them (`=` is one), and the completions of the last."""


def test_bash_completes_commands_and_values(said: Any, tmp_path: Path) -> None:
    """bash hands over the words of the line, and takes what the program of that name prints."""
    program = tmp_path / "bayplan"
    program.write_text(f"#!{sys.executable}\nfrom bayplan.__main__ import script\nscript()\n")
    program.chmod(0o755)
    ask = "COMPREPLY=() COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bayplan_completion bayplan; echo ${COMPREPLY[@]}"
    lines = [f"COMP_WORDS=({line}); {ask}" for line in COMPLETED]
    env = environment({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    script = "\n".join((said("completion", "bash"), *lines))
    shell = subprocess.run(["bash", "-c", script], env=env, capture_output=True, encoding="utf-8", check=True)
    assert dict(zip(COMPLETED, (line.split() for line in shell.stdout.split("\n")), strict=False)) == COMPLETED


class TestPlan:
    @pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/workflow.yaml")))
    def test_every_example(self, example: str, said: Any) -> None:
        files = [f"{EXAMPLES}/{example}/workflow.yaml", "-t", f"{EXAMPLES}/{example}/topology.yaml"]
        report = json.loads(said("plan", *files, "--format", "json"))
        for workflow in report["workflows"]:
            for stage in workflow["stages"]:
                for gang in stage["gangs"]:
                    self.sound(gang)
        assert said("plan", *files).startswith(f"{report['workflows'][0]['workflow']} on ")

    def sound(self, unit: dict[str, Any]) -> int:
        """The unit's pods, which are those below it; every podSet has a node for each pod."""
        below = sum(self.sound(each) for each in unit["groups"])
        for pods in unit["podSets"]:
            assert len(pods["nodes"]) == pods["pods"]
            below += pods["pods"]
        assert below == unit["pods"]
        return below


class TestSeveralWorkflows:
    @pytest.fixture
    def two(self, tmp_path: Path) -> list[str]:
        """The example under two names."""
        text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
        for name in ("alpha", "beta"):
            (tmp_path / name).write_text(text.replace("name: pretrain", f"name: {name}"), encoding="utf-8")
        (tmp_path / "both").write_text(f"{(tmp_path / 'beta').read_text()}---\n{(tmp_path / 'alpha').read_text()}")
        return [str(tmp_path / name) for name in ("alpha", "beta", "both")]

    def test_their_order_and_files_change_nothing(self, two: list[str], said: Any) -> None:
        alpha, beta, both = two
        text = said("render", alpha, beta, *ON)
        assert text == said("render", beta, alpha, *ON) == said("render", both, *ON)
        assert text == "---\n".join(said("render", each, *ON) for each in (alpha, beta))

    def test_shared_objects_are_written_once(self, two: list[str], said: Any) -> None:
        documents = list(parse_all(said("render", *two[:2], *ON, "--cluster-objects")))
        names = [(each["kind"], each["metadata"]["name"]) for each in documents]
        assert len(names) == len(set(names))
        assert names[0][0] == "Topology"

    def test_one_bad_workflow_stops_all(self, two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        bad = Path(two[0])
        bad.write_text(bad.read_text().replace("spine", "spin"))
        assert run(["render", *two[:2], *ON]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert f"{bad}:" in err

    def test_the_same_one_twice_collides(self, two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["check", two[0], two[0], *ON]) == 1
        assert "error[W301]" in capsys.readouterr().out

    def test_what_both_say_of_the_topology_is_said_once(
        self, two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        topology = tmp_path / "topology.yaml"
        text = (PRETRAIN / "topology.yaml").read_text(encoding="utf-8")
        topology.write_text(text.replace("{name: spine,", "{nam: spine,"))
        assert run(["check", *two[:2], "-t", str(topology)]) == 1
        out, _ = capsys.readouterr()
        places = re.findall(r"^\S+: error.*$", out, re.M)
        assert places
        assert len(places) == len(set(places))
