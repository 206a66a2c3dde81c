"""OSMO's pool configurations: the forms they come in, how templates merge, and what they say of levels and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.core.diagnostics import Outcome, Route
from bayplan.model.topology import ClusterTopology
from bayplan.plugins.osmo.pool import levels, reading, sharing, values
from bayplan.plugins.osmo.pool.library import chart
from bayplan.plugins.osmo.pool.values import Key, PoolConfig, Share, TaskRequest, merge_helm_values, merge_templates
from bayplan.text.document import Document
from bayplan.topologies import native
from support import TOPOLOGY
from tools.effort import examples


def document(data: Any) -> Document:
    """A document of that data."""
    return Document("pool.yaml", "", 0, data)


def read(data: Any, name: str = "") -> Outcome[PoolConfig]:
    return reading.read(document(data), name)


def config(data: Any, name: str = "") -> PoolConfig:
    """The pool of a file without errors."""
    made = read(data, name)
    assert made.value is not None, made.diagnostics
    return made.value


def share_of(config: PoolConfig, ask: TaskRequest, topology: Any = None, render: Any = None) -> Outcome[Share]:
    """What the platform gives to a single task."""
    made = sharing.shares(config, (ask,), topology, render)
    return Outcome(made.value[0] if made.value else None, made.diagnostics)


def codes(outcome: Outcome[Any]) -> list[str]:
    return [each.code for each in outcome.diagnostics]


def cluster() -> ClusterTopology:
    made = native.read(TOPOLOGY).value
    assert made is not None
    return made.value


ROUTE: Route = ("workflow", "workflow", "timeout")
POOL = {"backend": "east", "default_platform": "gb200", "platforms": {"gb200": {"override_pod_template": ["arm"]}}}
ARM = {"arm": {"spec": {"nodeSelector": {"kubernetes.io/arch": "arm64"}}}}

FORMS = {
    "the service's own file": {"pools": {"hall": POOL}, "pod_templates": ARM},
    "helm values": {"services": {"configs": {"enabled": True, "pools": {"hall": POOL}, "podTemplates": ARM}}},
    "helm values of the other chart": {"configuration": {"pools": {"hall": POOL}, "podTemplates": ARM}},
    "one pool with its templates": {**POOL, "name": "hall", "pod_templates": ARM},
    "pools by name": {
        "hall": {
            **POOL,
            "parsed_pod_template": {},
            "platforms": {"gb200": {"labels": ARM["arm"]["spec"]["nodeSelector"]}},
        }
    },
    "verbose": {
        "pools": {
            "hall": {
                **POOL,
                "platforms": {"gb200": {"override_pod_template": ["arm"], "parsed_pod_template": ARM["arm"]}},
            }
        }
    },
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_form_says_the_same(data: Any) -> None:
    assert values.sniff(data)
    found = config(data)
    assert (found.name, found.default_platform) == ("hall", "gb200")
    assert found.platforms["gb200"].pod_template == ARM["arm"]


def test_routes_lead_into_the_file() -> None:
    data = {"services": {"configs": {"pools": {"hall": {**POOL, "platforms": {"gb200": 3}}}}}}
    (found,) = read(data).diagnostics
    assert (found.code, found.route) == (
        "S202",
        ("osmo-pool", "services", "configs", "pools", "hall", "platforms", "gb200"),
    )


def test_the_list_of_pools_has_no_templates_so_the_usual_one_is_taken() -> None:
    listed = {"node_sets": [{"pools": [{"name": "hall", "backend": "b", "platforms": {"gb200": {}}}]}]}
    made = read(listed)
    assert codes(made) == ["W491"]
    assert made.value is not None
    assert made.value.platforms["gb200"].pod_template == chart()["pod_templates"]["default_user"]
    assert made.value.route == ("osmo-pool", "node_sets", 0, "pools", 0)


@pytest.mark.parametrize(
    "data", [None, [], "pools", 3, {}, {"pools": {}}, {"pools": []}, {"a": 1}, {"a": {"b": 1}}, TOPOLOGY]
)
def test_strangers(data: Any) -> None:
    assert not values.sniff(data)
    assert codes(read(data)) == ["W471"]


TWO = {"pools": {"hall": {**POOL, "platforms": {"gb200": {}}}, "bay": {"backend": "west", "platforms": {}}}}


@pytest.mark.parametrize(
    ("name", "found"),
    [("hall", "hall"), ("bay", "bay"), ("", "W472"), ("bey", "W472")],
)
def test_which_pool(name: str, found: str) -> None:
    made = read(TWO, name)
    assert (made.value.name if made.value else codes(made)[0]) == found


def test_a_pool_chosen_on_the_command_line_is_taken_whatever_the_workflow_says() -> None:
    chosen = values.choose(TWO, "bay")
    made = read(chosen.value, "hall")
    assert (made.value and made.value.name, codes(made)) == ("bay", [])
    assert codes(values.choose(TWO, "bey")) == ["W472"]


def test_choosing_keeps_the_routes_of_a_list() -> None:
    entries = [{"name": "a", "backend": "x", "platforms": {}}, {"name": "b", "backend": "x", "platforms": {}}]
    chosen = values.choose({"node_sets": [{"pools": entries}]}, "b").value
    assert config(chosen).route == ("osmo-pool", "node_sets", 0, "pools", 1)


def test_the_only_pool_is_taken_under_another_name_with_a_warning() -> None:
    only = {"pools": {"hall": TWO["pools"]["hall"]}}
    assert codes(read(only, "bay")) == ["W472"]
    assert codes(read({**POOL, "platforms": {"gb200": {}}}, "bay")) == []
    assert config({**POOL, "platforms": {"gb200": {}}}, "bay").name == "bay"


NAMED = [{"name": "a", "value": "1"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("base", "over", "made"),
    [
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}, id="mappings merge"),
        pytest.param(
            {"l": NAMED},
            {"l": [{"name": "a", "value": "2"}]},
            {"l": [{"name": "a", "value": "2"}, {"name": "b"}]},
            id="lists merge by name",
        ),
        pytest.param({"l": NAMED}, {"l": [{"name": "c"}]}, {"l": [*NAMED, {"name": "c"}]}, id="new names follow"),
        pytest.param(
            {"l": [{"key": "x"}]},
            {"l": [{"key": "x"}]},
            {"l": [{"key": "x"}, {"key": "x"}]},
            id="entries without a name pile up",
        ),
        pytest.param({"l": ["x"]}, {"l": ["x"]}, {"l": ["x", "x"]}, id="texts pile up"),
        pytest.param({"l": 1}, {"l": [1]}, {"l": [1]}, id="a list over a scalar"),
        pytest.param({"a": 1}, {"a": None}, {"a": None}, id="null is a value"),
        pytest.param(
            {"l": [{"name": "a"}, {"name": "a"}]},
            {"l": [{"name": "a", "x": 1}]},
            {"l": [{"name": "a"}, {"name": "a", "x": 1}]},
            id="the last of a name",
        ),
        pytest.param(
            {"l": []},
            {"l": [{"name": "a"}, {"name": "a"}]},
            {"l": [{"name": "a"}, {"name": "a"}]},
            id="twins in one list",
        ),
        pytest.param(
            {"l": [{"name": "a", "e": [{"name": "x"}]}]},
            {"l": [{"name": "a", "e": [{"name": "x", "v": 1}]}]},
            {"l": [{"name": "a", "e": [{"name": "x", "v": 1}]}]},
            id="lists within lists",
        ),
    ],
)
def test_merging(base: Any, over: Any, made: Any) -> None:
    clashes: list[Any] = []
    assert merge_templates(base, over, clashes) == made
    assert clashes == []


@pytest.mark.parametrize(
    ("base", "over", "clash"),
    [
        ({"a": "text"}, {"a": {"b": 1}}, ("a",)),
        ({"a": None}, {"a": {"b": 1}}, ("a",)),
        ({"a": [1]}, {"a": {"b": 1}}, ("a",)),
        ({"l": [{"name": "x", "v": 1}]}, {"l": [{"name": "x", "v": {}}]}, ("l", 0, "v")),
    ],
)
def test_a_mapping_over_something_else(base: Any, over: Any, clash: tuple[Any, ...]) -> None:
    clashes: list[Any] = []
    merge_templates(base, over, clashes)
    assert clashes == [clash]


def test_merging_changes_nothing_in_place() -> None:
    base, over = {"l": [{"name": "a", "e": [1]}]}, {"l": [{"name": "a", "e": [2]}]}
    merge_templates(base, over, [])
    assert (base, over) == ({"l": [{"name": "a", "e": [1]}]}, {"l": [{"name": "a", "e": [2]}]})


def test_helm_replaces_lists_and_deletes_with_null() -> None:
    chart = {"keep": 1, "list": [1, 2], "gone": {"a": 1}, "map": {"x": 1, "y": 2}}
    values = {"list": [3], "gone": None, "map": {"y": 3}, "new": None}
    assert merge_helm_values(chart, values) == {"keep": 1, "list": [3], "map": {"x": 1, "y": 3}, "new": None}


def test_templates_are_laid_in_order_the_pools_own_first() -> None:
    templates = {
        "one": {"spec": {"runtimeClassName": "one", "tolerations": [{"key": "a"}], "nodeSelector": {"a": "1"}}},
        "two": {"spec": {"runtimeClassName": "two", "tolerations": [{"key": "a"}]}},
        "three": {"spec": {"nodeSelector": {"a": "3"}}},
    }
    own = {
        "backend": "b",
        "common_pod_template": ["one", "two"],
        "platforms": {"p": {"override_pod_template": ["three"]}, "q": None},
    }
    found = config({"pools": {"hall": own}, "pod_templates": templates})
    spec = {"runtimeClassName": "two", "tolerations": [{"key": "a"}, {"key": "a"}]}
    assert found.platforms["p"].pod_template == {"spec": {**spec, "nodeSelector": {"a": "3"}}}
    assert found.platforms["q"].pod_template == {"spec": {**spec, "nodeSelector": {"a": "1"}}}


def test_rules_and_variables_of_pool_and_platform() -> None:
    rule = {"operator": "GT", "left_operand": "{{USER_CPU}}", "right_operand": "0", "assert_message": "m"}
    own = {
        "backend": "b",
        "common_default_variables": {"USER_CPU": 1, "USER_GPU": 0},
        "common_resource_validations": ["one"],
        "platforms": {"p": {"resource_validations": ["two"], "default_variables": {"USER_CPU": 8}}},
    }
    both = {"one": [rule], "two": [{**rule, "assert_message": "n"}]}
    found = config({"pools": {"hall": own}, "resource_validations": both}).platforms["p"]
    assert [each.message for each in found.rules] == ["m", "n"]
    assert found.rules[1].route == ("osmo-pool", "resource_validations", "two", 0)
    assert found.variables == {"USER_CPU": 8, "USER_GPU": 0}


def test_the_rules_that_osmo_collected_are_read_where_there_is_no_section() -> None:
    rule = {"operator": "GT", "left_operand": "1", "right_operand": "0", "assert_message": "m"}
    own = {
        "backend": "b",
        "parsed_resource_validations": [rule],
        "platforms": {"p": {"parsed_resource_validations": [rule, rule]}, "q": {}},
    }
    found = config({"pools": {"hall": own}})
    assert [len(each.rules) for each in found.platforms.values()] == [2, 1]


def test_default_mounts_are_what_the_template_mounts_outside_of_osmos_container() -> None:
    containers = [
        {"name": "osmo-ctrl", "volumeMounts": [{"name": "a", "mountPath": "/a"}]},
        {"name": "{{USER_CONTAINER_NAME}}", "volumeMounts": [{"name": "b", "mountPath": "/b"}]},
        {"name": "side", "volumeMounts": [{"name": "c", "mountPath": "/c"}, {"name": "d"}, {"mountPath": None}]},
    ]
    own = {"backend": "b", "common_pod_template": ["t"], "platforms": {"p": {}}}
    found = config({"pools": {"hall": own}, "pod_templates": {"t": {"spec": {"containers": containers}}}})
    assert found.platforms["p"].default_mounts == ("/b", "/c")


def test_group_templates_of_one_object_merge() -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
    templates = {
        "a": {**head, "data": {"x": "1", "y": "1"}},
        "b": {**head, "data": {"y": "2"}},
        "c": {**head, "kind": "Secret"},
    }
    own = {"backend": "b", "common_group_templates": ["a", "b", "c"], "platforms": {}}
    found = config({"pools": {"hall": own}, "group_templates": templates}).group_templates
    assert [(each.kind, each.data.get("data")) for each in found] == [
        ("ConfigMap", {"x": "1", "y": "2"}),
        ("Secret", None),
    ]


def test_the_chart_completes_helm_values_and_nothing_else() -> None:
    values = {
        "services": {"configs": {"pools": {"default": {"backend": "east", "common_pod_template": ["default_user"]}}}}
    }
    made = read(values)
    assert codes(made) == ["W491"]
    found = config(values)
    assert found.default_platform == "default"
    assert found.platforms["default"].variables["USER_MEMORY"] == "1Gi"
    assert (found.default_exec_timeout, found.max_exec_timeout) == (7 * 86400, 30 * 86400)
    own = {"pools": {"default": {"backend": "east", "platforms": {}}}, "pod_templates": {}}
    assert (config(own).default_platform, config(own).default_exec_timeout) == ("", None)


def test_a_template_of_the_charts_name_is_laid_over_the_charts_in_helm_values_only() -> None:
    mine = {"default_user": {"spec": {"runtimeClassName": "nvidia"}}}
    pools = {"hall": {"backend": "b", "common_pod_template": ["default_user"], "platforms": {"p": {}}}}
    in_helm = config({"configuration": {"pools": pools, "podTemplates": mine}}).platforms["p"].pod_template["spec"]
    is_independent = config({"pools": pools, "pod_templates": mine}).platforms["p"].pod_template["spec"]
    assert set(in_helm) == {"runtimeClassName", "containers"}
    assert set(is_independent) == {"runtimeClassName"}


def test_timeouts() -> None:
    own = {"backend": "b", "platforms": {}, "default_exec_timeout": "2h", "max_exec_timeout": "1d"}
    found = config({"pools": {"hall": own}, "workflow": {"default_queue_timeout": "1h", "default_exec_timeout": "9h"}})
    assert levels.timeouts(found, None, None, ROUTE).value == (7200, 3600)
    assert levels.timeouts(found, 0, 90000, ROUTE).value == (7200, 90000)
    assert levels.timeouts(found, 999999, 10, ROUTE).value == (86400, 10)
    assert levels.timeouts(PoolConfig("x"), None, 5, ROUTE).value == (None, 5)
    assert levels.timeouts(PoolConfig("x", max_exec_timeout=60), None, None, ROUTE).value == (60, None)


def test_what_a_pool_cuts_of_a_timeout_is_told() -> None:
    places: dict[str, Route] = {"max_exec_timeout": ("osmo-pool", 1)}
    found = PoolConfig("x", max_exec_timeout=1800, max_queue_timeout=3600, places=places)
    made = levels.timeouts(found, 7200, 93784, ROUTE)
    assert made.value == (1800, 3600)
    assert [(each.code, each.route[-1]) for each in made.diagnostics] == [
        ("W457", "exec_timeout"),
        ("W457", "queue_timeout"),
    ]
    assert [each.message.split(" is ")[0] for each in made.diagnostics] == ["2h", "93784s"]
    assert [len(each.notes) for each in made.diagnostics] == [1, 0]
    assert levels.timeouts(found, 1800, None, ROUTE).diagnostics == ()
    assert levels.timeouts(PoolConfig("x"), 10**9, 10**9, ROUTE).diagnostics == ()


@pytest.mark.parametrize(
    ("guarantee", "gpus", "reported"),
    [(-1, 1000, False), (8, 8, False), (8, 9, True), (0, 1, True), (0, 0, False), (None, 1000, False)],
)
def test_a_group_may_ask_for_what_its_pool_guarantees(guarantee: int | None, gpus: int, reported: bool) -> None:
    own = {"backend": "b", "platforms": {}, "resources": {"gpu": {} if guarantee is None else {"guarantee": guarantee}}}
    found = config({"pools": {"hall": own}})
    assert [each.code for each in reading.quota(found, "ring", gpus, ROUTE)] == ["W483"] * reported


def test_exit_actions_are_kept_in_file_order_and_checked_as_those_of_tasks() -> None:
    own = {"backend": "b", "platforms": {}}
    given = {"FAIL": 1, "complete": "0-10"}
    made = read({"pools": {"hall": {**own, "default_exit_actions": given}}})
    assert made.value is not None
    assert [*made.value.default_exit_actions.items()] == [("FAIL", "1"), ("complete", "0-10")]
    assert [(each.code, each.route) for each in made.diagnostics] == [
        ("W421", ("osmo-pool", "pools", "hall", "default_exit_actions", "complete"))
    ]
    wrong = read({"pools": {"hall": {**own, "default_exit_actions": {"RESTART": "1", "FAIL": "a"}}}})
    assert codes(wrong) == ["W413", "W413"]
    assert wrong.value is not None
    assert wrong.value.default_exit_actions == {}


@pytest.mark.parametrize(
    ("pool_keys", "sections", "expected", "judged"),
    [
        pytest.param({"max_exec_timeout": "1h30m"}, {}, ["W413"], True, id="no-duration"),
        pytest.param({"max_exec_timeout": 5}, {}, ["S202"], True, id="no-text"),
        pytest.param({"resources": {"gpu": {"guarantee": "x"}}}, {}, ["S202"], True, id="no-quota"),
        pytest.param({"topology_keys": [{"key": "a"}]}, {}, ["S204"], False, id="no-label"),
        pytest.param({"platforms": {"p": 5}}, {}, ["S202"], False, id="no-platform"),
        pytest.param({}, {"pod_templates": {"t": 5}}, ["S202"], False, id="no-template"),
        pytest.param({}, {"workflow": {"max_exec_timeout": []}}, ["S202"], False, id="no-section"),
    ],
)
def test_one_error_hides_no_other(
    pool_keys: dict[str, Any], sections: dict[str, Any], expected: list[str], judged: bool
) -> None:
    own = {"backend": "b", "default_platform": "p", "platforms": {"p": {}}, "default_queue_timeout": "soon"}
    found = read({"pools": {"hall": {**own, "default_exit_actions": {"RESTART": "1"}, **pool_keys}}, **sections})
    assert sorted(codes(found)) == sorted([*expected, "W413", "W413"])
    assert (found.value is not None) == judged


def test_a_label_that_is_meant() -> None:
    labels = ["topology.kubernetes.io/zone", "nvidia.com/gpu.clique"]
    assert levels.near("nvidia.com/gpu-clique", labels) == 'did you mean "nvidia.com/gpu.clique"?'
    assert levels.near("Topology.Kubernetes.io/Zone", labels) == 'did you mean "topology.kubernetes.io/zone"?'
    assert levels.near("example.com/spine", labels) == ""
    assert levels.near("nvidia.com/gpu-clique", ["example.com/spine"]) == ""


def keyed(*pairs: tuple[str, str]) -> PoolConfig:
    return PoolConfig("hall", tuple(Key(key, label, ("osmo-pool", key)) for key, label in pairs))


SPINE, RACK = ("spine", "example.com/spine"), ("rack", "nvidia.com/gpu.clique")


@pytest.mark.parametrize(
    ("config", "joined", "found"),
    [
        pytest.param(keyed(SPINE, RACK), {"spine": "spine", "rack": "rack"}, [], id="by label"),
        pytest.param(keyed(("a", SPINE[1]), ("b", RACK[1])), {"a": "spine", "b": "rack"}, [], id="not by name"),
        pytest.param(keyed(("rack", SPINE[1])), {"rack": "spine"}, [], id="even against the name"),
        pytest.param(keyed(("host", "kubernetes.io/hostname")), {"host": "host"}, [], id="the host level"),
        pytest.param(
            keyed(("c", "nvidia.com/gpu-clique")), {"c": "rack"}, ["W466"], id="the label of the documentation"
        ),
        pytest.param(keyed(("spine", "example.com/spin")), {}, ["W466"], id="near"),
        pytest.param(keyed(("zone", "topology.kubernetes.io/zone")), {}, ["W466"], id="far"),
        pytest.param(keyed(RACK, SPINE), {"spine": "spine", "rack": "rack"}, ["W479"], id="order"),
    ],
)
def test_levels(config: PoolConfig, joined: Mapping[str, str], found: list[str]) -> None:
    made = levels.levels(config, cluster())
    assert (made.value, codes(made)) == (joined, found)


def test_hints_of_levels() -> None:
    (near,) = levels.levels(keyed(("s", "example.com_spine")), cluster()).diagnostics
    assert near.hint == 'did you mean "example.com/spine"?'
    bare = native.read({**TOPOLOGY, "spec": {"pools": [{"name": "p", "node": {}, "domains": [{"nodes": "n1"}]}]}}).value
    assert bare is not None
    (none,) = levels.levels(keyed(SPINE), bare.value).diagnostics
    assert none.hint == "add levels to the topology"


@pytest.mark.parametrize("count", [16, 17])
def test_so_many_keys(count: int) -> None:
    keys = [{"key": f"k{n}", "label": f"example.com/l{n}"} for n in range(count)]
    made = read({"pools": {"hall": {"backend": "b", "platforms": {}, "topology_keys": keys}}})
    assert codes(made) == ([] if count == 16 else ["W418"])


def test_the_host_may_be_the_last_key() -> None:
    keys = [{"key": "rack", "label": "example.com/rack"}, {"key": "host", "label": "kubernetes.io/hostname"}]
    assert codes(read({"pools": {"hall": {"backend": "b", "platforms": {}, "topology_keys": keys}}})) == []


WORDS = st.sampled_from(
    """pools platforms common_pod_template pod_templates podTemplates groupTemplates spec name containers resources
    limits topology_keys key label resource_validations node_sets a default_user default_platform parsed_pod_template
    common_group_templates services configs""".split()  # noqa: SIM905
)
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(), WORDS, st.just("{{USER_CPU}}")),
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(WORDS, below, max_size=4)),
    max_leaves=25,
)


@given(st.dictionaries(WORDS, ANY, max_size=4), st.sampled_from(["", "a", "name"]))
@settings(max_examples=examples(60, 400), deadline=None)
def test_no_mapping_makes_it_raise(data: dict[str, Any], name: str) -> None:
    made = read(data, name)
    errors = [each for each in made.diagnostics if each.severity == "error"]
    assert errors or made.value is not None
    assert made.value is None or all(reading.is_independent(each, made.value.route) for each in errors)
    assert all(each.route[0] == "osmo-pool" for each in made.diagnostics)
    values.choose(data, name)
