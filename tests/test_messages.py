"""Every message of the product is reported by a case in `tests/cases`, so that no rule can be lost unnoticed.

`tools.messages` says what a message is. Where one is missing: write a case for it (see CONTRIBUTING.md), or remove it
where nothing that anybody writes leads to it.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from typing import NamedTuple

from tools.run import ROOT, python


class Message(NamedTuple):
    """A message that no case reaches."""

    place: str
    code: str
    template: str


ELSEWHERE: dict[tuple[str, str], str] = {
    (
        "A966",
        "{} names no program, and there is no plugin at {}",
    ): "unit/kustomize_doctor_test.py::test_a_function_without_a_program_or_a_plugin",
    (
        "A968",
        '{} has another name now, and its channel template is still "{}"',
    ): "unit/kustomize_doctor_test.py::test_a_channel_template_with_a_name_of_its_own",
    (
        "A968",
        '{} speaks of the host "{}", and it is {} now',
    ): "unit/kustomize_doctor_test.py::test_the_references_that_are_shipped_repair_fields_and_no_text",
    (
        "A968",
        '{}: {} says "{}", and it is {} now',
    ): "unit/kustomize_doctor_test.py::test_names_that_lead_nowhere_in_a_real_build",
    (
        "A971",
        "this document has more than {} bytes, and it may be one to place",
    ): "test_post_render.py::test_a_marked_document_must_be_readable",
    ("A988", '"{}" leads out of the project by a link'): "unit/generate_test.py::test_a_link_that_leads_out",
    ("F600", "{}"): "unit/support_rows_test.py::test_a_feature_without_a_row_is_absent_and_has_a_code",
    ("F609", "{}"): "unit/support_rows_test.py::test_what_no_scheduler_lacks_today_has_its_code_all_the_same",
    ("F619", "{}"): "unit/support_rows_test.py::test_what_no_scheduler_lacks_today_has_its_code_all_the_same",
    (
        "F718",
        "{} takes {} sections of a heterogeneous job; Slurm takes {}",
    ): "test_slurm_scripts.py::test_a_job_beyond_the_limits_is_refused",
    (
        "F718",
        "{} would tell its tasks {} bytes of what to run; one argument has {} at most",
    ): "test_slurm_scripts.py::test_a_job_beyond_the_limits_is_refused",
    (
        "M776",
        'pods "{}" name the PodGroup "{}", which is not there; they wait for it',
    ): "test_read_back_koordinator.py::test_pods_without_their_pod_group_are_found",
    (
        "M787",
        'pods "{}" name the group "{}", which is not there; they would wait for ever',
    ): "test_read_back_native.py::test_pods_of_a_group_that_is_not_there_are_found",
    (
        "M790",
        'job "{}" has {} nodes, which --segment={} does not divide',
    ): "test_read_back_slurm.py::test_segments_that_do_not_divide_a_job_are_found",
    ("O803", '"{}" cannot be written whole: {}'): "unit/cli_output_test.py::test_a_full_disk_changes_nothing",
    ("O809", "{} changed"): "unit/generate_test.py::test_the_example",
    ("O821", 'Helm cannot be asked where its plugins are: "{}": {}'): "test_helm.py::test_a_helm_that_does_not_answer",
    ("O822", "{} is Helm {}, which has no plugins of this kind"): "test_helm.py::test_a_plugin_is_for_helm_4",
    (
        "O823",
        '"{}" is there already, and is no plugin that bayplan wrote',
    ): "test_helm.py::test_the_plugin_goes_where_it_is_told",
    ("O831", "`{}` fails"): "unit/kustomize_doctor_test.py::test_an_old_kustomize_and_one_that_fails",
    (
        "O832",
        "{} knows no {}, so it runs no function",
    ): "unit/kustomize_doctor_test.py::test_an_old_kustomize_and_one_that_fails",
    (
        "P502",
        'there is no pool "{}"; the topology has {}',
    ): "unit/pools_test.py::test_a_pool_that_is_not_there_is_one_finding",
    ("P515", "{}; {} is the most"): "unit/hosts_test.py::test_files_that_grow_past_the_limit_are_refused",
    ("P553", "{}: {}"): "unit/fit_test.py::test_refused",
    ("P557", "cannot decide whether the plan fits: {}"): "unit/fit_test.py::test_an_undecided_plan_is_an_error",
    (
        "R103",
        "the file has more than {} bytes, the most that is read",
    ): "unit/cli_files_test.py::test_what_is_too_large",
    ("R103", "the file has {} bytes, {} is the most that is read"): "unit/document_test.py::test_too_large_a_text",
    ("S202", "found {} as a key, expected text"): "unit/schema_test.py::test_keys_that_are_not_text",
    ("S208", "the document is nested too deeply"): "unit/schema_test.py::test_bottomless_nesting",
    (
        "S210",
        "the document does not follow its schema",
    ): "unit/schema_test.py::test_a_refusal_without_a_reason_is_still_a_refusal",
    ("T515", '{} without GPUs, and the selector of pool "{}" takes them'): "test_nodes.py::test_what_is_wrong_is_said",
    (
        "T522",
        "each {} of {} holds up to {} NVLink partitions of equal size",
    ): "test_nodes.py::test_what_is_wrong_is_said",
    (
        "T529",
        "the list has no kind behind its items: the end of the file is missing",
    ): "test_nodes_care.py::test_a_page_of_a_list_is_no_list",
    (
        "T538",
        "hosts of the fabric that are no nodes of the other source",
    ): "test_fabrics.py::test_appliances_are_no_nodes_unless_the_cluster_says_so",
    (
        "T560",
        "there is no topology and no node in it",
    ): "unit/topology_sources_test.py::test_broken_texts_are_refused_in_peace",
    (
        "T575",
        'pool "{}" says {} cards a node, and the sources say {}',
    ): "unit/refresh_test.py::test_what_the_nodes_offer_is_left_and_doubted",
    ("W318", "the files have {} bytes; a ConfigMap holds {}"): "unit/checks_test.py::test_files_beyond_a_config_map",
    (
        "W478",
        'no driver sets the node label "{}"; "{}" is written, which they set',
    ): "unit/osmo_import_test.py::test_a_new_topology",
    ("W488", "the rule cannot be evaluated: {}"): "unit/osmo_share_test.py::test_no_broken_file_makes_it_raise",
    ("W499", "the package ruamel.yaml is not installed"): "unit/osmo_import_test.py::test_without_ruamel",
}
"""(Code, template) of a message that depends on the machine, on sizes or inner faults -> the test that reaches it."""

OPEN: dict[tuple[str, str], str] = {
    (
        "A962",
        "the items cannot be told apart",
    ): "items that are well-formed by themselves and not in one list: none is known",
    (
        "A967",
        'the Workflow "{}" is still there after the build',
    ): "needs kustomize and a build that ends with a Workflow in it",
    (
        "F760",
        "{}: bayplan does not know whether {} can hand them out",
    ): "the matrix has a row for every scheduler, vendor and allocator",
    (
        "M701",
        'pods "{}" name the subgroup "{}", which PodGroup "{}" lacks; KAI would never count them',
    ): "no command reads KAI's manifests back",
    ("R101", "the folder cannot be read: {}"): "root may read every folder",
    (
        "R103",
        "the file has more than {} bytes, the most that is read of this format",
    ): "a file of that size takes seconds",
    ("R104", "the file is not {}: {} is no character"): "only beyond the first piece of a large file",
    (
        "R109",
        "this is not JSON: {}",
    ): "only where brackets nest deeper than the standard library reads, and R115 comes first",
    ("R130", "the template writes more than 16 Mi characters"): "the limit of memory comes first",
    ("R131", "nothing is there to render templates with"): "for callers of the library that bring no renderer",
    ("R134", '"{}" cannot be read: no folder is known'): "for callers of the library that name no folder",
    (
        "T437",
        'pool "{}" has the levels of pool "{}", which has all nodes of the two; it is left out',
    ): "two sources of one pool whose nodes are in another",
    (
        "T438",
        'node {} is in NVLink partition "{}", and in "{}" as another source says',
    ): "two sources that both name partitions",
    ("T438", 'of a "{}" {} nodes are planned in one source and {} in another'): "two sources that both plan",
    (
        "T554",
        "the names of {} nodes in Slurm follow no rule from those in Kubernetes",
    ): "names without any rule are hard to find: tables of names are rules too",
    ("W488", '"{}" is no size of a cache'): "a workflow of OSMO with a cache",
    ("W499", "ruamel.yaml cannot change the file: {}"): "only where ruamel.yaml refuses what libyaml reads",
    ("W559", "{}"): "W313 and W515 come before the rule about `nodeName`",
}
"""(Code, template) of a message that no test reaches -> why. It may only become shorter."""


@cache
def unreached() -> tuple[Message, ...]:
    """What the cases do not reach, found by an interpreter of its own: it imports the product in another way."""
    done = python("-m", "tools.messages", env={"PYTHONPATH": f"{ROOT / 'generator'}:{ROOT / 'tests'}"})
    assert done.returncode == 0, done.stderr
    return tuple(Message(*each) for each in json.loads(done.stdout))


def test_every_message_has_a_case() -> None:
    missing = [each for each in unreached() if (each.code, each.template) not in ELSEWHERE | OPEN]
    assert missing == [], "\n".join(f"{each.place} {each.code} {each.template}" for each in missing)


def test_what_is_reached_elsewhere_is_no_case_and_has_its_test() -> None:
    left = {(each.code, each.template) for each in unreached()}
    assert {*ELSEWHERE, *OPEN} <= left
    for named in set(ELSEWHERE.values()):
        path, _, test = named.partition("::")
        tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, named
