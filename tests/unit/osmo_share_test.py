"""What a platform gives to a task: variables, rules, rights, and the pod template cut into its parts."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from osmo_pool_test import cluster, codes, config, read, share_of

from bayplan.core.diagnostics import Outcome
from bayplan.plugins.osmo import sandbox
from bayplan.plugins.osmo.pool import levels, library, sharing
from bayplan.plugins.osmo.pool.rendering import Job, of_task, render_all
from bayplan.plugins.osmo.pool.values import PoolConfig, Share, TaskRequest
from osmo_texts import in_this_process
from tools.effort import examples

HEAD = {"backend": "east", "default_platform": "gb200"}
ASK = TaskRequest(("workflow", "workflow", "tasks", 0), task="Rank_0", container="rank-0", group="g", workflow="train")
USER = "{{USER_CONTAINER_NAME}}"


def made_of(spec: Mapping[str, Any], metadata: Mapping[str, Any] = {}, **pool_keys: Any) -> PoolConfig:
    """A pool whose only platform has this pod template."""
    own = {**HEAD, "common_pod_template": ["t"], "platforms": {"gb200": {}}, **pool_keys}
    return config({"pools": {"hall": own}, "pod_templates": {"t": {"metadata": metadata, "spec": spec}}})


def share(spec: Mapping[str, Any], ask: TaskRequest = ASK, **pool_keys: Any) -> Outcome[Share]:
    return share_of(made_of(spec, **pool_keys), ask, cluster(), in_this_process)


def given_by(spec: Mapping[str, Any], ask: TaskRequest = ASK, **pool_keys: Any) -> Share:
    made = share(spec, ask, **pool_keys)
    assert made.value is not None, made.diagnostics
    return made.value


def user(**fields: Any) -> dict[str, Any]:
    """A pod's spec that says something of the user's container."""
    return {"containers": [{"name": USER, **fields}]}


def env_of(text: str, ask: TaskRequest = ASK, **pool_keys: Any) -> str:
    """What a text of a pod template comes to."""
    (container,) = given_by(user(env=[{"name": "A", "value": text}]), ask, **pool_keys).template["spec"]["containers"]
    return str(container["env"][0]["value"])


@pytest.mark.parametrize(
    ("text", "ask", "value"),
    [
        ("{{USER_CPU}}", ASK._replace(cpu=2), "2.0"),
        ("{{ USER_GPU }} of {{USER_GPU}}", ASK._replace(gpu=4), "4 of 4"),
        ("{{USER_MEMORY}}", ASK._replace(memory="64Gi"), "64Gi"),
        ("{{USER_MEMORY}}", ASK._replace(memory="64GiB"), "64Gi"),
        ("{{USER_MEMORY_VAL}} {{USER_MEMORY_UNIT}}", ASK._replace(memory="64Gi"), "64 Gi"),
        ("{{USER_MEMORY_Mi}}", ASK._replace(memory="1.5Gi"), "1536.0"),
        ("{{USER_STORAGE_Gi}}", ASK._replace(storage="512Mi"), "0.5"),
        ("{{USER_CACHE}}", ASK._replace(storage="100Gi"), "90Gi"),
        ("{{USER_CACHE}}", ASK._replace(storage="100Gi", cache="33.9%"), "33Gi"),
        ("{{USER_CACHE}}", ASK._replace(storage="100Gi", cache="1e1 %"), "10Gi"),
        ("{{USER_CACHE}}", ASK._replace(storage="100Gi", cache="12Gi"), "12Gi"),
        ("{{USER_CACHE}}", ASK, "0Mi"),
        ("{{USER_CONTAINER_NAME}}", ASK, "rank-0"),
        ("{{USER_CONTAINER_NAME}}", ASK._replace(container=""), "main"),
        ("{{WF_ID}}/{{WF_GROUP_NAME}}/{{WF_TASK_NAME}}", ASK, "train/g/Rank_0"),
        ("{{WF_POOL}} {{WF_PLATFORM}} {{WF_PRIORITY}} {{WF_RETRY_ID}}", ASK, "hall gb200 normal 0"),
        ("{{WF_LEAD_CONTAINER}}", ASK._replace(lead=True), "true"),
        ("{% if USER_CPU > 2 %}2{% else %}{{USER_CPU}}{% endif %}", ASK._replace(cpu=8), "2"),
        ("{{ USER_GPU * 2 }}", ASK._replace(gpu=4), "8"),
        ("{# nothing #}x", ASK, "x"),
        ("line\n", ASK, "line"),
        ("{{WF_TASK_NAME}}\n", ASK, "Rank_0"),
        ("{{ 'none' }}", ASK, "none"),
        ("a }} b {{WF_POOL}}", ASK, "a }} b hall"),
    ],
)
def test_variables(text: str, ask: TaskRequest, value: str) -> None:
    assert env_of(text, ask) == value


def test_defaults_hold_where_the_workflow_says_nothing() -> None:
    defaults = {"USER_CPU": 3, "USER_MEMORY": "2Gi", "SITE": "north", "USER_GPU": 0}
    text = "{{USER_CPU}} {{USER_MEMORY}} {{USER_MEMORY_Mi}} {{SITE}} {{USER_GPU}}"
    assert env_of(text, common_default_variables=defaults) == "3 2Gi 2048.0 north 0"
    own = ASK._replace(cpu=1, memory="1Gi", gpu=0)
    assert env_of(text, own, common_default_variables=defaults) == "1.0 1Gi 1024.0 north 0"


def test_uuids_are_made_of_names() -> None:
    text = "{{WF_UUID}} {{WF_GROUP_UUID}} {{WF_TASK_UUID}}"
    one, again, other = env_of(text), env_of(text), env_of(text, ASK._replace(task="rank-1"))
    assert one == again
    assert one.split()[:2] == other.split()[:2]
    assert len({*one.split(), *other.split()}) == 4
    assert all(len(each) == 32 for each in one.split())


def test_every_simple_text_comes_out_as_jinja_writes_it() -> None:
    tokens = of_task(made_of({}), made_of({}).platforms["gb200"], ASK._replace(cpu=2, gpu=4, memory="1Gi")).value
    assert tokens is not None
    names = [*tokens][:20]
    texts = [
        f"{before}{{{{{pad}{name}{pad}}}}}{after}"
        for name in names
        for pad in ("", " ")
        for before, after in (("", ""), ("a ", "\n"))
    ]
    simple = render_all([Job(text, tokens) for text in texts])
    reply = sandbox.run(
        {
            "task": "render",
            "template": "\x00".join(f"{text}|" for text in texts),
            "variables": {"map": [[k, v] for k, v in tokens.items()]},
        }
    )
    slow = [each[:-1] for each in reply["text"].split("\x00")]
    assert [each.text for each in simple] == [each.removesuffix("\n") for each in slow]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{WF_POLL}}", 'did you mean "WF_POOL"?'),
        ("{{WF_POLL|lower}}", 'did you mean "WF_POOL"?'),
        ("{{x.y}}", ""),
        ("{% if %}", ""),
    ],
)
def test_texts_that_cannot_be_filled_in(text: str, hint: str) -> None:
    template = made_of(user(env=[{"name": "A", "value": text}]))
    (found,) = share_of(template, ASK, cluster(), sandbox.run).diagnostics
    assert found.code == "R127"
    assert hint in found.hint
    assert found.route == ("osmo-pool", "pod_templates", "t", "spec", "containers", 0, "env", 0, "value")


def test_without_a_renderer_only_plain_variables_come_out() -> None:
    template = made_of(user(env=[{"name": "A", "value": "{{USER_GPU * 2}}"}]))
    assert codes(share_of(template, ASK, None)) == ["R127"]


def test_a_template_that_never_ends_is_ended() -> None:
    text = "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"
    template = made_of(user(env=[{"name": "A", "value": text}]))
    (found,) = share_of(template, ASK, cluster(), sandbox.run).diagnostics
    assert found.code == "R127"
    assert "than a template may" in found.message or "range" in found.message.lower()


def amounts(requests: Mapping[str, Any] = {}, limits: Mapping[str, Any] = {}) -> dict[str, Any]:
    return user(resources={"requests": requests, "limits": limits})


def main_of(made: Share) -> Any:
    return next(iter(made.template.get("spec", {}).get("containers", [])), {})


@pytest.mark.parametrize(
    ("spec", "resources", "cards", "rest"),
    [
        pytest.param(amounts({"cpu": "2"}, {"cpu": "2.0"}), {"cpu": "2"}, None, None, id="equal as amounts"),
        pytest.param(amounts({}, {"memory": "1024Mi"}), {"memory": "1Gi"}, None, None, id="a limit is a request"),
        pytest.param(amounts({"cpu": "1"}), {}, None, {"requests": {"cpu": "1"}}, id="a request alone"),
        pytest.param(
            amounts({"cpu": 1}, {"cpu": 2}),
            {},
            None,
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
            id="different",
        ),
        pytest.param(amounts({"nvidia.com/gpu": "4"}, {"nvidia.com/gpu": "4"}), {}, 4, None, id="cards"),
        pytest.param(amounts({}, {"nvidia.com/gpu": "0"}), {}, 0, None, id="no cards"),
        pytest.param(amounts({}, {"nvidia.com/gpu": "{{USER_GPU}}"}), {}, None, None, id="cards nobody asks for"),
        pytest.param(amounts({"rdma/hca": 1}, {"rdma/hca": 1}), {"rdma/hca": "1"}, None, None, id="another device"),
        pytest.param(amounts({"cpu": 0}, {"cpu": 0}), {}, None, None, id="nothing"),
        pytest.param(amounts({"cpu": None}, {"cpu": "1"}), {"cpu": "1"}, None, None, id="null"),
        pytest.param({}, {}, None, None, id="no template"),
    ],
)
def test_amounts(spec: Any, resources: Any, cards: int | None, rest: Any) -> None:
    made = given_by(spec)
    assert (dict(made.resources), made.accelerators) == (resources, cards)
    assert main_of(made).get("resources") == rest
    assert ("W491" in codes(share(spec))) == (rest is not None)


@pytest.mark.parametrize("amount", ["a lot", "-1", "1 Gi", "{{WF_POOL}}"])
def test_no_amount(amount: str) -> None:
    assert codes(share(amounts({}, {"cpu": amount}))) == ["W495"]


def test_the_usual_templates_give_what_is_asked_for() -> None:
    own = {**HEAD, "common_pod_template": ["default_user", "default_ctrl"], "platforms": {"gb200": {}}}
    ask = ASK._replace(cpu=8, gpu=4, memory="64Gi", storage="100Gi")
    made = share_of(config({"pools": {"hall": own}}), ask).value
    assert made is not None
    assert made[:4] == ({"cpu": "8", "ephemeral-storage": "100Gi", "memory": "64Gi"}, 4, {}, ())


def test_what_a_variable_without_a_value_says_is_left_out() -> None:
    spec = user(
        env=[{"name": "A", "value": "by {{WF_SUBMITTED_BY}}"}], resources={"limits": {"memory": "{{USER_MEMORY}}"}}
    )
    made = share(spec)
    assert codes(made) == ["R126", "R126"]
    assert made.value is not None
    assert (main_of(made.value), dict(made.value.resources)) == ({"name": "rank-0", "env": [{"name": "A"}]}, {})


NODES = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": "{{USER_EXCLUDED_NODES}}"}
            ]
        }
    ]
}
EXCLUDING = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": NODES}}}


def test_excluded_nodes() -> None:
    made = given_by(EXCLUDING, ASK._replace(excluded=("n1", "n2"))).template["spec"]["affinity"]["nodeAffinity"]
    (term,) = made["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["n1", "n2"]


def test_no_excluded_nodes_is_no_affinity() -> None:
    assert given_by(EXCLUDING).template == {}


def test_an_expression_that_excludes_nothing_leaves_the_others() -> None:
    other = {"key": "zone", "operator": "In", "values": ["a"]}
    spec = copy.deepcopy(EXCLUDING)
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    terms[0]["matchExpressions"].append(other)  # type: ignore[arg-type]
    made = given_by(spec).template["spec"]["affinity"]["nodeAffinity"]
    assert made["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": [other]}
    ]
    terms.append({"matchExpressions": [terms[0]["matchExpressions"][0]]})  # "or any node"
    assert given_by(spec).template == {}


def test_two_spellings_of_the_users_container_are_one() -> None:
    spec = {"containers": [{"name": USER, "tty": True}, {"name": "{{ USER_CONTAINER_NAME }}", "stdin": True}]}
    assert given_by(spec).template["spec"]["containers"] == [{"name": "rank-0", "tty": True, "stdin": True}]


def test_sidecars_stay() -> None:
    side = {"name": "side", "image": "registry.example.com/side:1", "env": [{"name": "POOL", "value": "{{WF_POOL}}"}]}
    made = share({"containers": [side]})
    assert made.value is not None
    assert made.value.template["spec"]["containers"] == [{**side, "env": [{"name": "POOL", "value": "hall"}]}]
    assert made.diagnostics == ()


def test_labels_and_annotations_stay_and_other_metadata_goes() -> None:
    metadata = {"labels": {"a": "{{WF_POOL}}"}, "annotations": {"b": "c"}, "finalizers": ["x"], "labels2": None}
    made = share_of(made_of({}, metadata), ASK)
    assert made.value is not None
    assert made.value.template == {"metadata": {"labels": {"a": "hall"}, "annotations": {"b": "c"}}}
    assert codes(made) == ["W491"]


DOMAIN = {
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomain",
    "metadata": {"name": "d-{{WF_GROUP_UUID}}"},
    "spec": {"channel": {"resourceClaimTemplate": {"name": "c-{{ WF_GROUP_UUID }}"}}},
}
CLAIMING = {
    "resourceClaims": [
        {"name": "channel", "resourceClaimTemplateName": "c-{{WF_GROUP_UUID}}"},
        {"name": "camera", "resourceClaimTemplateName": "cameras"},
    ],
    "containers": [{"name": USER, "resources": {"claims": [{"name": "channel"}, {"name": "camera"}]}}],
}


def claiming(groups: Mapping[str, Any]) -> Outcome[Share]:
    own = {**HEAD, "common_pod_template": ["t"], "common_group_templates": [*groups], "platforms": {"gb200": {}}}
    return share_of(
        config({"pools": {"hall": own}, "pod_templates": {"t": {"spec": CLAIMING}}, "group_templates": groups}), ASK
    )


@pytest.mark.parametrize(("groups", "severity"), [({"d": DOMAIN}, "info"), ({}, "warning")])
def test_the_claim_on_a_channel_goes_and_others_stay(groups: Mapping[str, Any], severity: str) -> None:
    made = claiming(groups)
    assert [(each.code, each.severity) for each in made.diagnostics] == [("W456", severity)]
    assert made.value is not None
    spec = made.value.template["spec"]
    assert [each["name"] for each in spec["resourceClaims"]] == ["camera"]
    assert spec["containers"][0]["resources"] == {"claims": [{"name": "camera"}]}


def test_group_templates() -> None:
    own = {**HEAD, "common_group_templates": ["d", "m"], "platforms": {"gb200": {}}}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}
    pool = config({"pools": {"hall": own}, "group_templates": {"d": DOMAIN, "m": settings}})
    found = library.group_template_findings(pool)
    assert [(each.code, each.severity) for each in found] == [("W456", "info"), ("W491", "warning")]


WHOLE = {
    "pools": {
        "hall": {
            **HEAD,
            "topology_keys": [{"key": "rack", "label": "nvidia.com/gpu.clique"}],
            "common_pod_template": ["default_user", "t"],
            "common_group_templates": ["d"],
            "common_resource_validations": ["default_gpu", "r"],
            "common_default_variables": {"USER_CPU": 1},
            "platforms": {"gb200": {"allowed_mounts": ["/a"], "override_pod_template": ["t"]}},
            "max_exec_timeout": "1d",
        }
    },
    "pod_templates": {
        "t": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {**CLAIMING, **EXCLUDING, "volumes": [{"name": "v", "emptyDir": {}}]},
        }
    },
    "group_templates": {"d": DOMAIN},
    "resource_validations": {
        "r": [{"operator": "GT", "left_operand": "{{USER_MEMORY}}", "right_operand": "0", "assert_message": "m"}]
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for key, below in pairs for each in places(below, (*path, key)))]


ODD = st.sampled_from(
    [
        None,
        True,
        3,
        -1.5,
        "",
        "x",
        "{{USER_CPU}}",
        "{{NOPE}}",
        "{{",
        "1h30m",
        [],
        [None],
        ["x"],
        [{}],
        {},
        {"a": None},
        {"name": "x"},
    ]
)


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    """A sound file after at most three changes."""
    data = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in places(data) if path]))
        here: Any = data
        for step in path[:-1]:
            here = here[step]
        if draw(st.booleans()):
            here[path[-1]] = copy.deepcopy(draw(ODD))
        elif isinstance(here, dict):
            del here[path[-1]]
        if not data:
            break
    return data


@given(mutants(), st.sampled_from([ASK, ASK._replace(gpu=4, memory="1Gi", mounts=("/a",), excluded=("n",))]))
@settings(max_examples=examples(60, 400), deadline=None)
def test_no_broken_file_makes_it_raise(data: Any, ask: TaskRequest) -> None:
    made = read(data)
    if made.value is not None:
        levels.levels(made.value, cluster())
        shared = share_of(made.value, ask, cluster())
        assert (shared.value is None) == any(each.severity == "error" for each in shared.diagnostics)


# --- names and places -------------------------------------------------------------------------------------------------


def test_names_of_ours_are_not_taken() -> None:
    claims = [{"name": name, "resourceClaimTemplateName": "x"} for name in ("gpu", "camera", "pool-gpu")]
    spec = {
        "volumes": [{"name": "files", "emptyDir": {}}, {"name": "shm", "emptyDir": {}}],
        "resourceClaims": claims,
        "containers": [
            {
                "name": USER,
                "env": [{"name": "files", "value": "files"}],
                "volumeMounts": [{"name": "files", "mountPath": "/f"}, {"name": "shm", "mountPath": "/s"}],
                "resources": {"claims": [{"name": "gpu"}, {"name": "camera"}]},
            },
        ],
        "initContainers": [{"name": "files", "image": "b", "volumeMounts": [{"name": "files", "mountPath": "/f"}]}],
    }
    made = given_by(spec)
    found = made.template["spec"]
    assert [each["name"] for each in found["volumes"]] == ["pool-files", "shm"]
    assert [each["name"] for each in found["resourceClaims"]] == ["pool-pool-gpu", "camera", "pool-gpu"]
    (container,), (before,) = found["containers"], found["initContainers"]
    assert [each["name"] for each in container["volumeMounts"]] == ["pool-files", "shm"]
    assert [each["name"] for each in container["resources"]["claims"]] == ["pool-pool-gpu", "camera"]
    assert container["env"] == [{"name": "files", "value": "files"}]
    assert (before["name"], before["volumeMounts"][0]["name"]) == ("files", "pool-files")
    place = ("osmo-pool", "pod_templates", "t", "spec", "volumes", 0)
    assert made.origins[("template", "spec", "volumes", "pool-files")] == place


def test_every_part_of_a_template_has_its_place() -> None:
    two = {
        "low": {
            "spec": {
                "terminationGracePeriodSeconds": 5,
                "tolerations": [{"key": "a"}, {"key": "{{WF_POOL}}"}],
                "containers": [
                    {"name": "side-{{WF_TASK_NAME}}", "image": "b", "tty": True},
                    {"name": USER, "env": [{"name": "A", "value": "1"}], "resources": {"limits": {"cpu": 1}}},
                ],
            }
        },
        "high": {
            "spec": {
                "terminationGracePeriodSeconds": 6,
                "tolerations": [{"key": "b"}],
                "containers": [{"name": USER, "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]}],
            }
        },
    }
    own = {**HEAD, "common_pod_template": ["low", "high"], "platforms": {"gb200": {}}}
    made = share_of(config({"pools": {"hall": own}, "pod_templates": two}), ASK, cluster())
    assert made.value is not None, made.diagnostics
    where = {route: place[2:] for route, place in made.value.origins.items()}
    spec: tuple[Any, ...] = ("template", "spec")
    main = (*spec, "containers", "")
    assert where[(*spec, "terminationGracePeriodSeconds")] == ("high", "spec", "terminationGracePeriodSeconds")
    assert where[(*spec, "tolerations", 1, "key")] == ("low", "spec", "tolerations", 1, "key")
    assert where[(*spec, "tolerations", 2, "key")] == ("high", "spec", "tolerations", 0, "key")
    assert where[(*spec, "containers", "side-Rank_0", "tty")] == ("low", "spec", "containers", 0, "tty")
    assert where[(*main, "env", "A", "value")] == ("high", "spec", "containers", 0, "env", 1, "value")
    assert where[(*main, "env", "B", "value")] == ("high", "spec", "containers", 0, "env", 0, "value")
    assert where[("resources", "cpu")] == ("low", "spec", "containers", 1, "resources", "limits", "cpu")


def test_a_rule_that_tasks_break_in_one_place_is_told_once() -> None:
    resource = ("workflow", "workflow", "resources", "wide")
    here = ASK._replace(cpu=500, places={"cpu": (*resource, "cpu")})
    rules = {"most": [rule("8", "first"), rule("9", "second")]}
    own = {**HEAD, "common_resource_validations": ["most"], "platforms": {"gb200": {}}}
    made = config({"pools": {"hall": own}, "resource_validations": rules})
    reported = sharing.shares(
        made, [here, here._replace(task="b"), here._replace(task="c", cpu=10)], cluster()
    ).diagnostics
    messages = [each.message for each in reported]
    assert messages == [
        'tasks "Rank_0" and "b" break a rule of their platform: first',
        'tasks "Rank_0" and "b" break a rule of their platform: second',
        'task "c" breaks a rule of its platform: first',
        'task "c" breaks a rule of its platform: second',
    ]
    assert reported[0].notes[0].message == '"500" <= "8" must hold'


def rule(most: str, said: str) -> dict[str, str]:
    """At most so many CPUs."""
    return {"operator": "LE", "left_operand": "{{USER_CPU}}", "right_operand": most, "assert_message": said}


def test_all_texts_for_jinja_are_one_request() -> None:
    asked: list[str] = []

    def render(request: Any) -> Any:
        asked.append(request["task"])
        return sandbox.run(request)

    text = "{{ WF_TASK_NAME | upper }}"
    jobs = [Job(text, {"WF_TASK_NAME": f"a{number % 30}"}) for number in range(60)]
    assert [each.text for each in render_all(jobs, render)] == [f"A{number % 30}" for number in range(60)]
    assert asked == ["each"]
    assert [each.text for each in render_all(jobs[:0], render)] == []
    assert asked == ["each"]


def test_one_text_that_fails_takes_no_other_with_it() -> None:
    slow = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    made = render_all([Job(each, {}) for each in ("{{ 1 }}", slow, "{{ cycler(1) | e }}", "{{ 2 }}")], sandbox.run)
    assert [each.text for each in made] == ["1", "", "", "2"]
    assert made[1].fault == "it exceeds the time limit of templates"
    assert made[2].fault == "it writes <jinja2.utils.Cycler object>, which is a Python object"
