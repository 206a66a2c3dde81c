"""`bayplan upgrade`: retired codes become their successors, and all other bytes stay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bayplan import __version__
from bayplan.cli.upgrade import ANY, FUNCTIONS, STEPS, V1ALPHA1, Deprecated, Step, upgraded
from bayplan.report.codes import sections, successors
from tools.run import ROOT, bayplan

RETIRED = sorted(code for code in successors() if code.startswith("F"))
CODES = st.lists(st.sampled_from([*RETIRED, "F601", "F602"]), min_size=1, max_size=4)
FORMS = ("{}", "'{}'", '"{}"', "!!str {}", "&a{} {}")
MANIFEST = "---\n# F733\nkind:   ConfigMap\napiVersion: v1\ndata: {accept: [F733],  failOn: 'F733'}  # F733\n"
PROJECT = f"apiVersion: {V1ALPHA1}\nkind: Project   # F733\nspec:\n  outputs:\n"
FUNCTION = f"---\nkind: PlaceWorkloads\napiVersion: {V1ALPHA1}\nmetadata: {{name: F733}}\nspec:\n  topology: F733\n"


@st.composite
def streams(draw: st.DrawFn) -> str:
    """A project and a function between manifests, with `<CODE>` for each code that bayplan must upgrade."""

    def codes() -> str:
        forms = [draw(st.sampled_from(FORMS)).replace("{}", f"<{code}>") for code in draw(CODES)]
        anchored = [re.sub("&a<(.*?)>", rf"&a{number} ", form) for number, form in enumerate(forms)]
        if draw(st.booleans()):
            return f" [ {' , '.join(anchored)} ]  # F733\n"
        return "   # F733\n" + "".join(f"    -   {each}   # F733\n\n" for each in anchored)

    outputs = "".join(
        f"  - workflows: [F733]\n    to: 'F733'\n    accept:{codes()}" for _ in range(draw(st.integers(1, 3)))
    )
    text = PROJECT + outputs + MANIFEST + FUNCTION + f"  accept:{codes()}  failOn:{codes()}" + MANIFEST
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(streams())
def test_exactly_the_retired_codes_change(text: str) -> None:
    old = re.sub("<(.*?)>", r"\1", text)
    new = re.sub("<(.*?)>", lambda found: successors().get(found[1], found[1]), text)
    once = upgraded("", old.encode())
    assert once.diagnostics == ()
    assert once.value == new.encode()
    assert upgraded("", once.value) == once


@pytest.mark.parametrize("folder", ["examples", "tests", "docs"])
def test_files_without_old_forms_keep_all_bytes(folder: str) -> None:
    known = ROOT / "tests" / "cases"
    paths = [path for path in (ROOT / folder).rglob("*.y*ml") if known not in path.parents and path.is_file()]
    read = [(upgraded(str(path), raw), raw) for path in paths if b"bayplan.dev" in (raw := path.read_bytes())]
    assert [1 for after, raw in read if after.value not in (raw, None)] == []
    assert folder != "examples" or len([1 for after, _ in read if after.value]) > 20


def renamed() -> Mapping[str, str]:
    return {"old": "new"}


NEXT = "bayplan.dev/v1alpha2-test"
FICTITIOUS = Step(
    V1ALPHA1,
    NEXT,
    (
        Deprecated(("Project",), ("spec", "outputs", ANY, "to"), "0.2", "0.4", key="into"),
        Deprecated(("Project",), ("spec", "mode"), "0.2", "0.4", key="how", values=renamed),
    ),
)


def test_a_step_renames_keys_and_maps_values() -> None:
    """No real step has a new `apiVersion` so far."""
    old = (
        f"# top\napiVersion: '{V1ALPHA1}'   # version\nkind: Project\nspec:\n"
        '  mode: &m "old"  # mode\n  outputs:\n  - &o {to: to, "to" : x}\n  - <<: *o\n'
    ).replace("to: to, ", "")
    new = old.replace(V1ALPHA1, NEXT).replace('mode: &m "old"', 'how: &m "new"').replace('"to" :', '"into" :')
    after = upgraded("", (old + MANIFEST).encode(), (FICTITIOUS,))
    assert after.value == (new + MANIFEST).encode()
    assert yaml.safe_load(new)["spec"] == {"how": "new", "outputs": [{"into": "x"}, {"into": "x"}]}


def test_an_anchor_of_another_field_is_an_error() -> None:
    text = PROJECT + "  - {queue: &q F733, accept: [*q]}\n"
    assert [each.code for each in upgraded("", text.encode()).diagnostics] == ["A993"]


def test_no_file_changes_if_one_has_an_error(tmp_path: Path) -> None:
    old, new = (PROJECT + f"  - {{accept: [{code}]}}\n" for code in ("F733", successors()["F733"]))
    for name, text in (("a.yaml", old), ("bad.yaml", f"{old}  - [\n"), ("new.yaml", new)):
        (tmp_path / name).write_text(text)
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    assert bayplan("upgrade", "a.yaml", "bad.yaml", cwd=tmp_path).returncode == 1
    assert bayplan("upgrade", "a.yaml", "new.yaml", "--check", cwd=tmp_path).returncode == 1
    shown = bayplan("upgrade", "a.yaml", "new.yaml", "--diff", cwd=tmp_path)
    assert (shown.returncode, shown.stdout.count("\n--- "), shown.stdout[:11]) == (0, 0, "--- a.yaml\n")
    assert (tmp_path / "a.yaml").read_text() == old
    assert bayplan("upgrade", "-", cwd=tmp_path, stdin=old).stdout == new
    assert bayplan("upgrade", "link.yaml", "new.yaml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "a.yaml").read_text() == new
    assert bayplan("upgrade", "a.yaml", "new.yaml", "--check", cwd=tmp_path).returncode == 0


def numbers(version: str) -> list[int]:
    return [int(each) for each in version.split(".")]


def test_nothing_outlives_its_version() -> None:
    rows = [row for step in STEPS for row in step.rows]
    assert [row for row in rows if row.removed and numbers(row.removed) <= numbers(__version__)] == []
    assert [row for row in rows if numbers(row.since) > numbers(__version__)] == []
    assert set(FUNCTIONS) <= {kind for row in rows for kind in row.kinds}
    assert set(successors().values()) <= sections().keys() - successors().keys()
