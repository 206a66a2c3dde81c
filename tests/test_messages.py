"""Every message of the product is reported by a case in `tests/cases`, so that no rule can be lost unnoticed.

`tools.messages` says what a message is. Where one is missing: write a case for it (see CONTRIBUTING.md), or remove it
where nothing that anybody writes leads to it.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

from tools import messages
from tools.run import ROOT


class Message(NamedTuple):
    """A message that no case reaches."""

    place: str
    code: str
    template: str


ELSEWHERE: dict[tuple[str, str], str] = {
    ("A920", "the manifests come after the workflow"): "test_first_hour.py::test_the_manifests_come_after_the_workflow",
    ("A921", '"{}" is a list of nodes, not a topology file'): "test_first_hour.py::test_a_list_of_nodes_is_no_workflow",
    (
        "O820",
        "this report is of another folder; post-render has not reported anything here since",
    ): "test_first_hour.py::test_a_report_of_another_folder_says_so",
    (
        "W611",
        "the pod runs the whole script, and {} needs Slurm, which no pod has",
    ): "test_sbatch_scripts.py::test_the_pod_that_runs_the_script_has_no_programs_of_slurm",
    (
        "W611",
        "bayplan does not know what `{}` does",
    ): "test_sbatch_scripts.py::test_a_statement_without_a_fate_is_an_error",
    ("A929", '"{}" is a link to a place outside of the project'): "unit/generate_test.py::test_a_link_that_leads_out",
    ("F600", "{}"): "unit/support_rows_test.py::test_a_feature_without_a_row_is_absent_and_has_a_code",
    ("O802", 'cannot write all of "{}": {}'): "unit/cli_output_test.py::test_a_full_disk_changes_nothing",
    (
        "O805",
        "git does not track this file, so the commit lacks it",
    ): "test_pre_commit.py::test_a_new_workflow",
    (
        "O805",
        "--tracked needs a git repository and the program git",
    ): "unit/generate_test.py::test_tracked_needs_a_repository",
    ("O805", "{} changed"): "unit/generate_test.py::test_everything_is_created_and_a_second_run_is_silent",
    ("P515", "{}; it can have at most {}"): "unit/hosts_test.py::test_files_that_grow_past_the_limit_are_refused",
    ("R101", "cannot read the folder: {}"): "unit/cli_files_test.py::test_a_folder_whose_path_is_too_long",
    ("R103", "the file has {} bytes; the limit is {}"): "unit/document_test.py::test_too_large_a_text",
    (
        "R127",
        "this caller cannot render templates",
    ): "unit/osmo_template_test.py::test_a_caller_that_renders_and_reads_nothing",
    (
        "R134",
        '"{}" cannot be read: this caller has no folder',
    ): "unit/osmo_template_test.py::test_a_caller_that_renders_and_reads_nothing",
    (
        "R134",
        'bayplan does not read "{}" here: the workflow comes without files beside it',
    ): "test_sweeps.py::test_a_file_of_rows_needs_a_caller_that_reads_it",
    ("S202", "found {} as a key, expected a string"): "unit/schema_test.py::test_keys_that_are_not_text",
    ("R103", "the document has too many nested mappings and lists"): "unit/schema_test.py::test_bottomless_nesting",
    (
        "S210",
        "the document does not match its schema",
    ): "unit/schema_test.py::test_a_refusal_without_a_reason_is_still_a_refusal",
    (
        "W359",
        "{} with this value has {} bytes; Linux starts programs with at most {} a variable",
    ): "test_sweeps.py::test_the_longest_value_is_the_one_with_which_linux_starts_a_program",
    (
        "P515",
        '"{}" has {} bytes; a ConfigMap has at most {}',
    ): "unit/checks_test.py::test_files_beyond_a_config_map",
}
"""(Code, template) of a message that only large inputs, full disks, written files, callers of the library or faults of
our own lead to -> the test that reaches it."""


@cache
def unreached() -> tuple[Message, ...]:
    """What the cases do not reach."""
    return tuple(Message(*each) for each in messages.unreached())


def test_every_message_has_a_case() -> None:
    missing = [each for each in unreached() if (each.code, each.template) not in ELSEWHERE]
    assert missing == [], "\n".join(f"{each.place} {each.code} {each.template}" for each in missing)


def test_what_is_reached_elsewhere_is_no_case_and_has_its_test() -> None:
    left = {(each.code, each.template) for each in unreached()}
    assert {*ELSEWHERE} <= left
    for named in set(ELSEWHERE.values()):
        path, _, test = named.partition("::")
        tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, named
