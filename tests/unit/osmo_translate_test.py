"""OSMO data -> Workflow: what becomes of groups, tasks, resources, topology, names, tokens and exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import formats as reading
from bayplan import schemas
from bayplan.model.formats import Context
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Accelerator, EmptyDir, Gang, Group, Placement, PodSet, Variable, Volume, Workflow
from bayplan.plugins.osmo import site as platforms
from bayplan.plugins.osmo import translate
from bayplan.plugins.osmo.source import (
    LONGEST,
    REQUIRED,
    Task,
    exclude_nodes,
    label,
    retried,
    shorten_name,
    stem,
    with_exit_codes,
)
from bayplan.text.document import Document
from bayplan.workflows import native
from support import TOPOLOGY
from tools.effort import examples

LEVELS = ("zone", "spine", "rack")


def cluster(*levels: str, pools: tuple[str, ...] = ("gb200",)) -> ClusterTopology:
    """A topology of pools with these levels, one domain each."""
    made = [{"name": level, "label": f"example.com/{level}"} for level in levels]
    node = {"accelerator": "gb200", "count": 4, "cpu": "140", "memory": "900Gi"}
    path = "/".join(f"{level}-1" for level in levels)
    entries = [
        {"name": pool, "node": node, "levels": made, "domains": [{"path": path, "nodes": f"{pool}-[01-18]"}]}
        for pool in pools
    ]
    data = {**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "pools": entries}}
    value = reading.topology(Document("topology.yaml", "", 0, data)).value
    assert value is not None
    return value


def task(name: str, **changes: Any) -> dict[str, Any]:
    """A task that runs."""
    return {"name": name, "image": "img:1", "command": ["run"], **changes}


def spec(**changes: Any) -> dict[str, Any]:
    """The data of a workflow."""
    return {"workflow": {"name": "wf", **changes}}


def topology(*entries: str) -> list[dict[str, str]]:
    """`rack=a` requires, `rack?a` prefers."""
    found = []
    for entry in entries:
        key, sign, group = entry.partition("=" if "=" in entry else "?")
        found.append({"key": key, "group": group, **({"requirementType": "preferred"} if sign == "?" else {})})
    return found


def placed(tasks: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """One group of tasks, each with a topology of its own; the first leads."""
    resources = {name: {"gpu": 4, "topology": topology(*entries)} for name, entries in tasks.items()}
    made = [task(name, resource=name, args=[name], lead=index == 0) for index, name in enumerate(tasks)]
    return spec(groups=[{"name": "train", "tasks": made}], resources=resources)


def read(data: Any, where: ClusterTopology | None = None) -> tuple[Workflow, list[str]]:
    """The workflow and the codes of warnings and infos; its native form is sound and means the same."""
    assert schemas.validate("OsmoWorkflow", data, "workflow") == ()
    outcome = translate.read(data, Context(where))
    assert outcome.value is not None, outcome.diagnostics
    made = outcome.value.value
    again = native.write(made)
    assert schemas.validate("Workflow", again, "workflow") == ()
    back = native.read(again).value
    assert back is not None
    assert back.value == made
    return made, [each.code for each in outcome.diagnostics]


def shape(node: Gang | Group) -> Any:
    """A gang or group as placement and what is within, podSets as names with their numbers."""
    within = [shape(each) for each in node.groups] or [f"{each.name} x{each.replicas}" for each in node.pod_sets]
    level = f"!{node.placement.required}" * bool(node.placement.required)
    level += f"?{node.placement.preferred}" * bool(node.placement.preferred)
    return {f"{node.name}{level}": within}


# --- groups and tasks -------------------------------------------------------------------------------------------------


def test_the_64_pods_in_four_racks() -> None:
    tasks = {f"s{shard}-w{rank:02}": (f"rack=s{shard}", "spine=all") for shard in range(4) for rank in range(16)}
    made, _ = read(placed(tasks), cluster("spine", "rack"))
    (gang,) = made.gangs
    assert gang.placement == Placement("spine")
    assert [(group.name, group.placement, len(group.pod_sets)) for group in gang.groups] == [
        (f"s{shard}", Placement("rack"), 16) for shard in range(4)
    ]
    assert gang.lead == "s0-w00"
    assert gang.rendezvous == "none"


def test_equal_tasks_are_one_pod_set_but_for_the_lead() -> None:
    tasks = [task("head", lead=True, args=["same"]), *(task(f"worker-{n}", args=["same"]) for n in range(9))]
    made, _ = read(spec(groups=[{"name": "g", "tasks": tasks}]))
    assert shape(made.gangs[0]) == {"g": ["head x1", "worker x9"]}


HOSTED = {"hostNetwork": True}


@pytest.mark.parametrize(
    ("tasks", "group", "expected"),
    [
        ([{}, {}], {}, "gang"),
        ([{}, {}], {"barrier": "yes"}, "gang"),
        ([{}, {}], {"barrier": False}, "none"),
        ([{}], {"barrier": True}, "none"),
        ([HOSTED, {}], {}, "gang"),
        ([HOSTED, HOSTED], {}, "lost"),
        ([{**HOSTED, "resource": "whole"}, {**HOSTED, "resource": "whole"}], {}, "gang"),
        ([{**HOSTED, "resource": "half"}, {**HOSTED, "resource": "whole"}], {}, "lost"),
    ],
)
def test_tasks_wait_for_each_other_unless_they_cannot(
    tasks: list[dict[str, Any]], group: dict[str, Any], expected: str
) -> None:
    written = [task(f"t{n}", args=[str(n)], lead=n == 0, **each) for n, each in enumerate(tasks)]
    resources = {"default": {}, "half": {"gpu": 2}, "whole": {"gpu": 4}}
    made, codes = read(spec(groups=[{"name": "g", "tasks": written, **group}], resources=resources), cluster("rack"))
    assert (made.gangs[0].barrier, "W448" in codes) == (expected.replace("lost", "none"), expected == "lost")


def test_tasks_outside_of_groups_wait_for_nobody() -> None:
    made, codes = read(spec(tasks=[task("a"), task("b")]))
    assert [gang.barrier for gang in made.gangs] == ["none", "none"]
    assert "W448" not in codes


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(("a", "b", "c"), ["a x1", "b x2"], id="nothing-in-common"),
        pytest.param(("h", "w-1", "w-2"), ["h x1", "w x2"], id="numbers"),
        pytest.param(("h", "worker_10", "worker_11"), ["h x1", "worker x2"], id="a-common-digit"),
        pytest.param(("w", "w-1", "w-2"), ["w x1", "w-1 x2"], id="the-stem-is-taken"),
        pytest.param(("h", "N1", "N2"), ["h x1", "n x2"], id="upper-case"),
    ],
)
def test_what_folded_tasks_are_called(names: tuple[str, ...], expected: list[str]) -> None:
    tasks = [task(name, lead=number == 0) for number, name in enumerate(names)]
    made, _ = read(spec(groups=[{"name": "g", "tasks": tasks}]))
    assert shape(made.gangs[0]) == {"g": expected}


def test_bare_tasks_are_gangs_and_inputs_tie_them() -> None:
    tasks = [task("first"), task("second", inputs=[{"task": "first"}, {"url": "s3://b/x"}]), task("third")]
    made, _ = read(spec(tasks=tasks))
    assert [(gang.name, gang.depends_on, gang.lead) for gang in made.gangs] == [
        ("first", (), ""),
        ("second", ("first",), ""),
        ("third", (), ""),
    ]


def test_what_a_task_says_stands_in_its_pod_set() -> None:
    one = task(
        "one",
        image="img:2",
        command=["bash", 1],
        args=["-c", 2.5],
        environment={"A": 1, "B": True, "C": "x"},
        resource="big",
        files=[{"path": "/a", "contents": "text"}, {"path": "/b", "contents": "dGV4dA==", "base64": True}],
    )
    made, _ = read(spec(tasks=[one], resources={"big": {"gpu": 2, "cpu": "4", "memory": "1G", "storage": "10Gi"}}))
    assert made.gangs[0].pod_sets[0] == PodSet(
        name="one",
        accelerator=Accelerator("", 2),
        resources={"cpu": "4", "ephemeral-storage": "10Gi", "memory": "1Gi"},
        image="img:2",
        command=("bash", "1"),
        args=("-c", "2.5"),
        env={"A": "1", "B": "True", "C": "x"},
        files={"/a": "text", "/b": "text"},
    )


TEMPLATES = [
    pytest.param({"privileged": True}, {"containers": [{"securityContext": {"privileged": True}}]}, id="privileged"),
    pytest.param(
        {"hostNetwork": True}, {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}, id="host-network"
    ),
]


@pytest.mark.parametrize(("asked", "expected"), TEMPLATES)
def test_what_the_template_takes(asked: dict[str, Any], expected: dict[str, Any]) -> None:
    made, _ = read(spec(tasks=[task("one", **asked)]))
    assert made.gangs[0].pod_sets[0].template == {"spec": expected}


CREDENTIALS = [
    pytest.param(
        {"My_Key": "/keys", "s3": {"KEY": "access", "ID": "id"}},
        {"ID": Variable(secret="s3", key="id"), "KEY": Variable(secret="s3", key="access")},
        {"/keys": Volume(secret="my-key", read_only=True)},
        id="a-variable-and-a-folder",
    ),
    pytest.param(
        {"a": "/x", "b": "/x/"},
        {},
        {"/x": Volume(projected=({"secret": {"name": "a"}}, {"secret": {"name": "b"}}), read_only=True)},
        id="two-in-a-folder",
    ),
    pytest.param(
        {"a": {"K": "one"}, "b": {"K": "two"}}, {"K": Variable(secret="b", key="two")}, {}, id="the-last-of-a-name"
    ),
]


@pytest.mark.parametrize(("credentials", "env", "volumes"), CREDENTIALS)
def test_credentials(credentials: dict[str, Any], env: dict[str, Variable], volumes: dict[str, Volume]) -> None:
    made, _ = read(spec(tasks=[task("one", credentials=credentials, environment={"K": "plain"})]))
    pods = made.gangs[0].pod_sets[0]
    assert {key: value for key, value in pods.env.items() if isinstance(value, Variable)} == env
    assert pods.volumes == volumes


def test_data_folders() -> None:
    made, _ = read(spec(tasks=[task("one", inputs=[{"url": "s3://b/x"}], args=["{{output}}/x"])]))
    folder = Volume(empty_dir=EmptyDir())
    assert made.gangs[0].pod_sets[0].volumes == {"/osmo/data/input/0": folder, "/osmo/data/output": folder}


def test_excluded_nodes_are_an_affinity() -> None:
    made, _ = read(spec(tasks=[task("one")], resources={"default": {"nodesExcluded": ["b", "a", "b"]}}))
    affinity = made.gangs[0].pod_sets[0].template["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["a", "b"]}]


SELECTED = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
OFF = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["a", "b"]}


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        pytest.param([], [[OFF]], id="alone"),
        pytest.param([[SELECTED]], [[SELECTED, OFF]], id="beside-a-platform's-term"),
        pytest.param([[SELECTED], []], [[SELECTED, OFF], [OFF]], id="in-every-term"),
        pytest.param([[OFF]], [[OFF]], id="the-platform-has-done-it"),
        pytest.param(
            [[{**OFF, "operator": "In"}]], [[{**OFF, "operator": "In"}, OFF]], id="the-platform-wants-what-is-excluded"
        ),
    ],
)
def test_nodes_are_excluded_in_every_term(platform: list[Any], expected: list[Any]) -> None:
    terms = [{"matchExpressions": each} for each in platform]
    template = {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}} if terms else {}
    made = exclude_nodes(template, ["b", "a"])["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [each["matchExpressions"] for each in made] == expected


@pytest.mark.parametrize(
    ("timeout", "pod", "gang"),
    [
        pytest.param({}, None, None, id="none"),
        pytest.param({"exec_timeout": "10m"}, 600, None, id="running"),
        pytest.param({"exec_timeout": 90, "queue_timeout": "1h"}, 90, 3690, id="waiting-and-running"),
        pytest.param({"queue_timeout": "1h"}, None, None, id="waiting"),
        pytest.param({"exec_timeout": 0, "queue_timeout": "0s"}, None, None, id="zero-is-none"),
        pytest.param({"exec_timeout": "40000d", "queue_timeout": 1}, 2**31 - 1, 2**31 - 1, id="longer-than-pods-run"),
    ],
)
def test_timeouts(timeout: dict[str, Any], pod: int | None, gang: int | None) -> None:
    made, _ = read(spec(tasks=[task("one")], timeout=timeout))
    pods = made.gangs[0].pod_sets[0].template.get("spec", {})
    assert (pods.get("activeDeadlineSeconds"), made.gangs[0].active_deadline_seconds) == (pod, gang)


def test_cpu_tasks_hide_gpus_from_the_runtime() -> None:
    made, _ = read(spec(tasks=[task("one", environment={"NVIDIA_VISIBLE_DEVICES": "all"})]))
    assert made.gangs[0].pod_sets[0].env == {"NVIDIA_VISIBLE_DEVICES": ""}


# --- topology ---------------------------------------------------------------------------------------------------------

TREES = [
    pytest.param({"a": ()}, {"train": ["a x1"]}, id="none"),
    pytest.param({"a": ("rack=g",), "b": ("rack=g",)}, {"train!rack": ["a x1", "b x1"]}, id="one-level"),
    pytest.param(
        {"a": ("rack=g",), "b": ("rack=h",)}, {"train": [{"g!rack": ["a x1"]}, {"h!rack": ["b x1"]}]}, id="two-groups"
    ),
    pytest.param(
        {"a": ("rack=g", "zone=all"), "b": ("rack=h", "zone=all")},
        {"train!zone": [{"g!rack": ["a x1"]}, {"h!rack": ["b x1"]}]},
        id="two-levels",
    ),
    pytest.param(
        {"a": ("zone=all", "rack=g"), "b": ("zone=all", "rack=g")}, {"train!rack": ["a x1", "b x1"]}, id="the-finest"
    ),
    pytest.param(
        {"a": ("zone=all", "rack?g"), "b": ("zone=all", "rack?g")},
        {"train!zone?rack": ["a x1", "b x1"]},
        id="required-zone-is-not-lost",
    ),
    pytest.param(
        {"a": ("zone=x", "rack?g"), "b": ("zone=y", "rack?g")},
        {"train": [{"x-g!zone?rack": ["a x1"]}, {"y-g!zone?rack": ["b x1"]}]},
        id="nor-below-the-root",
    ),
    pytest.param(
        {"a": ("zone?all", "rack=g"), "b": ("zone?all", "rack=g")}, {"train!rack": ["a x1", "b x1"]}, id="implied"
    ),
    pytest.param(
        {"a": ("zone?all", "rack?g"), "b": ("zone?all", "rack?h")},
        {"train?zone": [{"g?rack": ["a x1"]}, {"h?rack": ["b x1"]}]},
        id="best-effort",
    ),
    pytest.param(
        {n: (f"zone=z{z}", f"rack={r}") for n, z, r in (("a", 0, "r"), ("b", 0, "s"), ("c", 1, "r"), ("d", 1, "s"))},
        {
            "train": [
                {"z0!zone": [{"r!rack": ["a x1"]}, {"s!rack": ["b x1"]}]},
                {"z1!zone": [{"r!rack": ["c x1"]}, {"s!rack": ["d x1"]}]},
            ]
        },
        id="names-are-scoped",
    ),
    pytest.param(
        {"a": ("zone=a", "rack=b-c"), "b": ("zone=a-b", "rack=c"), "c": ("zone=other", "rack=c")},
        {
            "train": [
                {"a-b-c!rack": ["a x1"]},
                {"a-b-c-4e84!rack": ["b x1"]},
                {"other-c!rack": ["c x1"]},
            ]
        },
        id="paths-do-not-collide",
    ),
    pytest.param(
        {
            "a": ("zone=z", "spine=s", "rack=r"),
            "b": ("zone=z", "spine=s", "rack=q"),
            "c": ("zone=z", "spine=t", "rack=r"),
            "d": ("zone=y", "spine=s", "rack=r"),
        },
        {
            "train": [
                {"z!zone": [{"s!spine": [{"r!rack": ["a x1"]}, {"q!rack": ["b x1"]}]}, {"t-r!rack": ["c x1"]}]},
                {"y-s-r!rack": ["d x1"]},
            ]
        },
        id="three-levels",
    ),
    pytest.param(
        {"a": ("rack=g",), "free": (), "b": ("rack=g",)},
        {"train": [{"g!rack": ["a x1", "b x1"]}, {"anywhere": ["free x1"]}]},
        id="tasks-without-topology",
    ),
    pytest.param(
        {"free": (), "a": ("rack=g",)},
        {"train": [{"anywhere": ["free x1"]}, {"g!rack": ["a x1"]}]},
        id="in-the-order-of-the-file",
    ),
]


@pytest.mark.parametrize(("tasks", "expected"), TREES)
def test_trees(tasks: Mapping[str, tuple[str, ...]], expected: Any) -> None:
    made, _ = read(placed(tasks), cluster(*LEVELS))
    assert shape(made.gangs[0]) == expected


def test_a_group_that_is_required_and_preferred_is_required() -> None:
    made, codes = read(placed({"a": ("rack?g",), "b": ("rack=g",)}), cluster(*LEVELS))
    assert made.gangs[0].placement == Placement("rack")
    assert "W479" in codes


def test_tasks_without_topology_are_told() -> None:
    assert "W464" in read(placed({"a": ("rack=g",), "free": ()}), cluster(*LEVELS))[1]


@pytest.mark.parametrize(
    ("written", "made"),
    [
        pytest.param("Model_A", "model-a", id="case-and-underscores"),
        pytest.param("Model_A shard!", "model-a-shard-0b05", id="other-letters"),
        pytest.param("", "group-e3b0", id="nothing"),
        pytest.param("\u30e2\u30c7\u30eb", "group-9459", id="no-latin-letter"),
        pytest.param("a" * 70, "a" * 70, id="long-names-are-cut-later"),
    ],
)
def test_group_names_become_labels(written: str, made: str) -> None:
    assert label(written) == made


def test_a_level_may_be_named_by_its_label() -> None:
    made, _ = read(placed({"a": ("example.com/rack=g",)}), cluster(*LEVELS))
    assert made.gangs[0].placement == Placement("rack")


def non_text_key_findings(data: Any, where: ClusterTopology) -> list[tuple[str, Any]]:
    """The errors and their routes."""
    outcome = translate.read(data, Context(where))
    assert outcome.value is None
    return [(each.code, each.route) for each in outcome.diagnostics if each.severity == "error"]


def test_an_unknown_key_is_refused_at_its_place() -> None:
    route = ("workflow", "workflow", "resources", "a", "topology", 0, "key")
    assert non_text_key_findings(placed({"a": ("gpu-clique=g",)}), cluster(*LEVELS)) == [("W466", route)]


@pytest.mark.parametrize(
    ("tasks", "expected", "reported"),
    [
        pytest.param({"a": ("rack=g", "zone=all"), "b": ("rack=h", "zone=all")}, "zone", False, id="fewer-groups"),
        pytest.param({"a": ("rack=g", "zone=g"), "b": ("rack=h", "zone=h")}, "", True, id="the-words"),
        pytest.param({"a": ("x=g", "y=g")}, "", True, id="the-file"),
    ],
)
def test_without_a_topology_the_order_of_levels_is_found(
    tasks: Mapping[str, tuple[str, ...]], expected: str, reported: bool
) -> None:
    made, codes = read(placed(tasks))
    assert made.gangs[0].placement.required in (expected, "y")
    assert ("W479" in codes) == reported


# --- platforms --------------------------------------------------------------------------------------------------------


def on(platform: str, *pools: str) -> Any:
    """A task on a platform of a cluster with pools, read."""
    data = spec(tasks=[task("one")], resources={"default": {"platform": platform}})
    return translate.read(data, Context(cluster("rack", pools=pools)))


def test_a_platform_is_the_pool_of_its_name() -> None:
    assert on("DGX_h100", "dgx-h100", "other").value.value.gangs[0].pod_sets[0].pool == "dgx-h100"


def test_the_only_pool_takes_every_platform() -> None:
    outcome = on("ovx", "gb200")
    assert outcome.value.value.gangs[0].pod_sets[0].pool == ""
    assert "W465" in [each.code for each in outcome.diagnostics]


def test_a_platform_without_a_pool_is_refused_where_there_is_a_choice() -> None:
    outcome = on("ovx", "a", "b")
    assert outcome.value is None
    assert "W465" in [each.code for each in outcome.diagnostics]


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_tokens_become_paths_names_and_hosts() -> None:
    args = ["{{workflow_id}} {{ output }} {{input:0}} {{input:first}} {{input:1}} {{host:second}} {{host:first}}"]
    second = task("second", inputs=[{"task": "first"}, {"url": "s3://b"}], args=args, lead=True)
    made, _ = read(spec(groups=[{"name": "a", "tasks": [task("first")]}, {"name": "b", "tasks": [second]}]))
    gang = made.gangs[1]
    data = "/osmo/data"
    assert gang.pod_sets[0].args == (
        f"wf {data}/output {data}/input/0 {data}/input/0 {data}/input/1 {{{{host:second}}}} {{{{host:first}}}}",
    )
    assert gang.hosts == {"{{host:second}}": "second"}


def test_hosts_know_where_folded_and_grouped_tasks_went() -> None:
    data = placed({"a": ("rack=g",), "b-0": ("rack=h",), "b-1": ("rack=h",)})
    for each in data["workflow"]["groups"][0]["tasks"]:
        each["args"] = ["{{host:a}} {{host:b-0}} {{ host:b-1 }}"]
    made, _ = read(data, cluster("rack"))
    assert made.gangs[0].hosts == {
        "{{host:a}}": "g-0-a",
        "{{host:b-0}}": "h-0-b/0",
        "{{ host:b-1 }}": "h-0-b/1",
    }


# --- names ------------------------------------------------------------------------------------------------------------

NAMES = st.from_regex(r"[a-zA-Z]([a-zA-Z0-9_-]{0,62}[a-zA-Z0-9])?", fullmatch=True)


@settings(max_examples=examples(20, 100), deadline=None)
@given(NAMES, st.lists(NAMES, min_size=1, max_size=4, unique_by=lambda name: name.lower().replace("_", "-")))
def test_names_are_cut_until_those_of_pods_fit(workflow: str, names: list[str]) -> None:
    data = {"workflow": {"name": workflow, "tasks": [task(name) for name in names if name.lower() != "osmo-ctrl"]}}
    if not data["workflow"]["tasks"]:
        return
    outcome = translate.read(data, Context())
    if outcome.value is None:  # `<task>-group` may be another task's name
        return
    made = outcome.value.value
    for gang in made.gangs:
        several = len(gang.name) + 1 if len(made.gangs) > 1 else 0
        assert len(made.name) + several + 1 + len(gang.pod_sets[0].name) + 1 <= LONGEST
    assert len({gang.name for gang in made.gangs}) == len(made.gangs)


def test_cut_names_stay_apart_and_are_told() -> None:
    names = ["a" * 40 + str(number) for number in range(2)]
    made, codes = read(spec(name="w" * 30, tasks=[task(name) for name in names]))
    assert len({gang.name for gang in made.gangs}) == 2
    assert codes.count("W461") == 1


def test_hundreds_of_long_names_stay_apart() -> None:
    tasks = [task(f"{'b' * 50}{number}") for number in range(600)]
    made, _ = read(spec(name="w" * 20, tasks=tasks))
    assert len({gang.name for gang in made.gangs}) == 600


@pytest.mark.parametrize("nodes", [5, [5], {REQUIRED: 1}, {REQUIRED: {"nodeSelectorTerms": [""]}}])
def test_what_is_no_affinity_stays_for_checks_to_refuse(nodes: Any) -> None:
    template = {"spec": {"affinity": {"nodeAffinity": nodes}}}
    assert exclude_nodes(template, ["a"]) == template


def test_a_cut_name_depends_on_itself_alone() -> None:
    assert shorten_name("abcdefghijkl", 9) == shorten_name("abcdefghijkl", 9) != shorten_name("abcdefghijkm", 9)
    assert len(shorten_name("abcdefghijkl", 9)) == 9


def test_the_stem_of_numbered_names() -> None:
    assert stem(("worker-0", "worker-1")) == "worker"
    assert stem(("a1b", "a1c")) == "a"
    assert stem(("x", "y")) == ""


# --- exit codes -------------------------------------------------------------------------------------------------------

ACTIONS = ("COMPLETE", "FAIL", "RESCHEDULE")
RANGES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), min_size=1, max_size=3)


def turned(code: int, actions: list[tuple[str, str]]) -> int:
    """What OSMO makes of a code, written anew: the first action that names it decides."""
    for action, codes in actions:
        for each in codes.split(","):
            first, _, last = each.partition("-")
            if int(first) <= code <= int(last or first):
                return 0 if action == "COMPLETE" else 1
    return int(code != 0)


def run(command: list[str], code: int) -> int:
    """The exit code of a command that is told to end with a code."""
    return subprocess.run([*command, str(code)], check=False).returncode


@pytest.mark.parametrize(
    ("actions", "code", "expected"),
    [
        pytest.param([("COMPLETE", "15")], 15, 0, id="completes"),
        pytest.param([("COMPLETE", "3-5,9")], 4, 0, id="range"),
        pytest.param([("COMPLETE", "3-5,9")], 9, 0, id="list"),
        pytest.param([("COMPLETE", "3-5,9")], 6, 6, id="others-stay"),
        pytest.param([("COMPLETE", "15")], 0, 0, id="success-stays"),
        pytest.param([("FAIL", "0")], 0, 1, id="success-fails"),
        pytest.param([("FAIL", "0-1"), ("COMPLETE", "2")], 2, 0, id="both"),
        pytest.param([("FAIL", "5"), ("COMPLETE", "1-10")], 5, 5, id="the-first-counts"),
        pytest.param([("RESCHEDULE", "1-5"), ("COMPLETE", "0-10")], 3, 3, id="what-is-started-again-has-failed"),
        pytest.param([("FAIL", "5"), ("COMPLETE", "5")], 5, 5, id="own-before-the-pool's"),
        pytest.param([("RESCHEDULE", "0,4-6")], 0, 4, id="success-starts-again"),
        pytest.param([("RESCHEDULE", "1"), ("FAIL", "0")], 0, 2, id="success-fails-for-good"),
    ],
)
def test_exit_codes_as_a_shell_turns_them(actions: list[tuple[str, str]], code: int, expected: int) -> None:
    assert run(with_exit_codes(["sh", "-c", 'exit "$0"'], actions), code) == expected


@settings(max_examples=examples(10, 25), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), RANGES), min_size=1, max_size=4), st.integers(0, 26))
def test_any_exit_actions(drawn: list[tuple[str, list[tuple[int, int]]]], code: int) -> None:
    actions = [(name, ",".join(f"{first}-{first + more}" for first, more in ranges)) for name, ranges in drawn]
    ended = run(with_exit_codes(["sh", "-c", 'exit "$0"'], actions), code)
    assert bool(ended) == bool(turned(code, actions))
    first = next((name for name, ranges in drawn for each, more in ranges if each <= code <= each + more), "")
    if again := retried(actions):
        assert (ended in again) == (first == "RESCHEDULE")


def test_the_pools_actions_are_asked_last() -> None:
    own = task("one", exitActions={"fail": "5"})
    made = platforms._exit_actions(Task("one", own, (), {}, (), ()), {"COMPLETE": "4-6"})
    assert made == (("FAIL", "5"), ("COMPLETE", "4-6"))


def test_commands_without_a_turned_code_stay_as_they_are() -> None:
    assert with_exit_codes(["run"], [("RESCHEDULE", "3"), ("FAIL", "1"), ("COMPLETE", "0")]) == ["run"]


ECHO = """
import signal, sys
signal.signal(signal.{0}, lambda number, frame: sys.exit(15))
print(sys.stdin.readline(), flush=True)
signal.pause()
"""


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_and_standard_input_reach_the_command(shell: str, number: signal.Signals) -> None:
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    _, *words = with_exit_codes([sys.executable, "-c", ECHO.format(number.name)], [("COMPLETE", "15")])
    with subprocess.Popen([shell, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("ready\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(60) == 0  # the command exits with 15, which is COMPLETE
