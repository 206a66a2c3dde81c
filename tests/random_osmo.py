"""Random OSMO workflows: `DATA` is whatever the schema accepts, `sound()` what OSMO runs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

names = st.sampled_from(["a", "A", "b", "a-b", "a_b", "a-group", "osmo-ctrl", "x" * 60])
words = st.sampled_from(
    [
        "",
        "x",
        "0",
        "9-3",
        "0-10,16",
        "{{host:a}}",
        "{{input:0}}",
        "{{ output }}",
        "{{uuid}} {{hosts:a}}",
        "(",
        "/osmo",
    ]
) | st.text(max_size=4)
numbers = st.integers(-3, 2**40) | st.floats() | st.just(16**5000)
texts = words | numbers
scalars = texts | st.booleans()
flags = st.booleans() | st.sampled_from(["yes", "No", "TRUE", "0", 0, 1, 1.0])
counts = st.none() | st.integers(0, 10**6) | st.sampled_from(["4", " 2 ", "2.0", "+1"])
amounts = st.none() | texts | st.sampled_from(["64Gi", "1.5Ti", "16G", "16GB", "16 Gi", "5m", "9" * 80])
durations = texts | st.sampled_from(["10m", "PT1H30M", "1h30m", "0s", 1e300, 2**70])
urls = st.sampled_from(["s3://b", "gs://b/x/", "swift://h/n/c/p", "azure://a/c", "tos://h/b"])
images = st.sampled_from(["example.com/i:1", 5, 1.5])
keys = st.sampled_from(["A", "a.b", "_", "x-1"])


def record(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with all of the first and any of the second."""
    return st.fixed_dictionaries(required, optional=optional)


def some(each: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[list[Any]]:
    """Up to three."""
    return st.lists(each, min_size=least, max_size=3)


requirement = record(
    {"key": st.sampled_from(["zone", "rack", "x"])},
    {"group": words, "requirementType": st.sampled_from(["required", "preferred"])},
)
resource = record(
    {},
    {
        "cpu": counts,
        "gpu": counts,
        "memory": amounts,
        "storage": amounts,
        "platform": st.none() | texts,
        "nodesExcluded": some(texts),
        "topology": some(requirement),
    },
)
references = names | st.sampled_from(["w-1:a", "nobody"])
source = record({}, {"task": references, "url": urls, "regex": words})
target = record({"url": urls}, {"regex": words})
file = record(
    {"path": texts | st.sampled_from(["/tmp/a", "/osmo/data/output/a", "/"]), "contents": texts}, {"base64": flags}
)
checkpoint = record({"path": words, "url": urls, "frequency": words | numbers}, {"regex": words})
credential = scalars.filter(lambda value: value != "") | st.dictionaries(keys, st.sampled_from(["k", 5, True]))
task = record(
    {"name": names, "image": images, "command": some(texts, 1)},
    {
        "args": some(texts),
        "lead": flags,
        "environment": st.dictionaries(keys, scalars, max_size=3),
        "resource": st.sampled_from(["default", "b", "nobody", 5]),
        "inputs": some(source),
        "outputs": some(target),
        "files": some(file),
        "credentials": st.dictionaries(st.sampled_from(["c", "c_d", "C-d"]), credential, max_size=2),
        "volumeMounts": some(texts | st.sampled_from(["/a:/b", "/a:/b:ro"])),
        "privileged": flags,
        "hostNetwork": flags,
        "exitActions": st.dictionaries(st.sampled_from(["COMPLETE", "fail", "Reschedule", "RESTART"]), scalars),
        "checkpoint": some(checkpoint),
        "kpis": some(record({"index": texts, "path": texts}, {})),
        "downloadType": st.sampled_from(["download", None]),
        "cacheSize": amounts | st.sampled_from(["50%", "101%", "-1%"]),
        "resources": resource,
        "backend": words,
    },
)
group = record({"name": names, "tasks": some(task, 1)}, {"barrier": flags, "ignoreNonleadStatus": flags})
workflow = record(
    {"name": names},
    {
        "tasks": some(task),
        "groups": some(group),
        "resources": st.dictionaries(st.sampled_from(["default", "b", "", "5"]), resource, max_size=3),
        "timeout": record({}, {"exec_timeout": st.none() | durations, "queue_timeout": st.none() | durations}),
        "labels": st.dictionaries(st.sampled_from(["a", "a.b/c"]), st.sampled_from(["x", "X_1"])),
        "pool": words,
        "backend": words,
    },
)
DATA = workflow.map(lambda spec: {"workflow": spec})
"""Whatever the schema accepts, sound or not."""


@st.composite
def sound(draw: st.DrawFn) -> dict[str, Any]:
    """A workflow that OSMO runs: groups of tasks, or tasks alone, that wait for earlier ones only."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    levels = draw(st.lists(st.sampled_from(["zone", "rack"]), unique=True))
    made: list[list[dict[str, Any]]] = []
    for number, size in enumerate(sizes):
        earlier = [task["name"] for tasks in made for task in tasks]
        made.append([draw(_sound_task(f"t{number}_{index}", earlier)) for index in range(size)])
    spec: dict[str, Any] = {"name": "w", "resources": draw(_sound_resources(levels))}
    if draw(st.booleans()):
        spec["tasks"] = [task for tasks in made for task in tasks]
    else:
        spec["groups"] = [{"name": f"g{number}", "tasks": _led(tasks)} for number, tasks in enumerate(made)]
    return {"workflow": spec}


def _led(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**task, "lead": index == 0} for index, task in enumerate(tasks)]


def _sound_task(name: str, earlier: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    sources = st.builds(lambda task: {"task": task}, st.sampled_from(earlier)) if earlier else st.nothing()
    optional = {
        "args": some(texts),
        "environment": st.dictionaries(keys, scalars, max_size=3),
        "resource": st.sampled_from(["default", "other"]),
        "inputs": some(sources | st.builds(lambda url: {"url": url, "regex": ".*"}, urls)),
        "outputs": some(target.map(lambda each: {**each, "regex": "a+"})),
        "files": st.just([{"path": "/tmp/a", "contents": 5}, {"path": "b", "contents": "eA==", "base64": True}]),
        "credentials": st.sampled_from([{"c": "/etc/c"}, {"c": {"A": "a"}}]),
        "volumeMounts": st.just(["/mnt", "/mnt:/data"]),
        "exitActions": st.sampled_from([{"complete": "0-10,16", "FAIL": 20}, {"RESCHEDULE": "1"}]),
        "cacheSize": st.sampled_from(["50%", "10Gi", 5, None]),
    }
    return record({"name": st.just(name), "image": images, "command": some(texts, 1)}, optional)


@st.composite
def _sound_resources(draw: st.DrawFn, levels: list[str]) -> dict[str, Any]:
    topology = [{"key": key, "group": draw(st.sampled_from(["g", "h"]))} for key in levels]
    amount = st.sampled_from(["64Gi", "1.5Ti", "16G", 2**30])
    one = record({}, {"cpu": counts, "gpu": counts, "memory": amount, "storage": amount})
    return {name: {**draw(one), "topology": topology} for name in ("default", "other")}
