"""Sources that are broken, cut off, taken for others or huge: always a finding at a place, never a crash or a hang."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fabric_texts
from bayplan.cli.run import run
from bayplan.topologies import FROM as WORDS
from judges import UPSTREAM
from one_cluster import hall, hyper_nodes, native_text, sources
from tools.data import parse_all
from tools.effort import examples, sample
from topology_files import Said, imported

MOST = 5.0
"""Seconds of this process that a small file may take, on a slow machine."""

BESIDE = {
    "scontrol-nodes": "".join(
        f"NodeName=n{n} Arch=aarch64\n   CPUTot=8\n   Gres=gpu:h100:8(S:0-1)\n   RealMemory=1000 AllocMem=0\n"
        f"   State=IDLE+DRAIN ThreadsPerCore=1\n   Reason=bad fan [root@2026]\n\n"
        for n in range(4)
    ),
    "scontrol-topology": "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]\n"
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[3-4]\n",
    "slurm-nodes": "NodeName=DEFAULT CPUs=8 RealMemory=1000\nNodeName=n[1-4] Gres=gpu:h100:8 State=UNKNOWN\n",
    "nmx": json.dumps(
        [
            {"Name": f"n{n}", "DomainUUID": "d1", "Health": "HEALTHY", "LocationInfo": {"ChassisID": 1, "TrayIndex": n}}
            for n in range(4)
        ]
    ),
    "resource-slices": yaml.safe_dump(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "n1-gpu"},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0", "attributes": {"productName": {"string": "NVIDIA H100"}}}],
            },
        }
    ),
    "launch-kit": yaml.safe_dump({"clusterConfig": [{"machineType": "dgx", "workerNodes": ["n1"], "pfs": []}]}),
    "network-operator": yaml.safe_dump_all(
        [
            {
                "apiVersion": "mellanox.com/v1alpha1",
                "kind": "HostDeviceNetwork",
                "metadata": {"name": "rail-0"},
                "spec": {
                    "networkNamespace": "fabric",
                    "resourceName": "rail_0",
                    "ipam": json.dumps({"type": "nv-ipam", "poolName": "rail-0"}),
                },
            },
            {
                "apiVersion": "nv-ipam.nvidia.com/v1alpha1",
                "kind": "IPPool",
                "metadata": {"name": "rail-0", "namespace": "nvidia-network-operator"},
                "spec": {"subnet": "10.0.0.0/24", "perNodeBlockSize": 8, "gateway": "10.0.0.1"},
            },
        ]
    ),
    "volcano-discovery": yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "volcano-controller-configmap"},
            "data": {
                "volcano-controller.conf": "networkTopologyDiscovery:\n- source: label\n  enabled: true\n  config:\n"
                "    networkTopologyTypes:\n      a:\n      - nodeLabel: x.io/rack\n"
                "      - nodeLabel: kubernetes.io/hostname\n"
            },
        }
    ),
    "topograph-request": json.dumps(
        {"provider": {"name": "aws"}, "nodes": [{"region": "r", "instances": {"i-1": "n1"}}]}
    ),
}
TEXTS = {name: told.files[0][1] for name, told in sources().items()} | BESIDE
"""A sound file in every format. The first of several, where it takes more to tell of a cluster."""

SAMPLES = sorted(
    path
    for kind in ("nodes", "slurm", "topograph")
    for path in (UPSTREAM / "examples" / kind).rglob("*")
    if path.is_file()
)


def judged(*files: tuple[str, str | bytes], options: tuple[str, ...] = (), most: float = MOST) -> Said:
    """A run that ended well, or with errors that each have a code and a place, and nothing written."""
    start = time.process_time()
    said = imported(*files, options=options)
    assert time.process_time() - start < most
    assert said.code in (0, 1, 2), said.err
    assert "Traceback" not in said.err
    assert bool(said.out) == (said.code == 0), said.err
    wrong = [each for each in said.found if each["severity"] == "error"]
    assert bool(wrong) == (said.code != 0), said.err
    assert all(each["code"] for each in wrong), said.err
    placed = [each for each in wrong if each["code"] != "R158"]  # the report leaves out errors
    assert all(each["file"] or said.code == 2 or files[0][0] in each["message"] for each in placed), said.err
    return said


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_file_that_is_cut_off(name: str) -> None:
    text = TEXTS[name]
    for part in range(1, 12):
        judged(("source.txt", text[: len(text) * part // 12]))


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_marks_and_line_ends_of_windows_change_nothing(name: str) -> None:
    text = TEXTS[name]
    plain = judged(("source.txt", text))
    for other in (b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n").encode(), text.encode("utf-16")):
        said = judged(("source.txt", other))
        assert (said.code, said.out) == (plain.code, plain.out)


STRANGE = (
    "\x00",
    "\u2028",
    "\u202e",
    "\U0001f4a9",
    "e\u0301",
    "\ufeff",
    "\x1b[31m",
    "'\"\\",
    "%s{}",
    "../..",
    "\n",
    "\t",
)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_any_characters(name: str) -> None:
    """In a node's name, in a value, and where lines end."""
    text = TEXTS[name]
    for strange in sample(STRANGE, 3, sorted(TEXTS).index(name)):
        for known in [each for each in ("gb-11-n1", "r11", "n1") if each in text][:2]:
            judged(("source.txt", text.replace(known, known + strange)))
            judged(("source.txt", text.replace(known, json.dumps(strange)[1:-1])))
    for broken in (b"\xff\xfe\x00", b"\xed\xa0\x80", b"\x80"):
        raw = text.encode()
        judged(("source.txt", raw[: len(raw) // 2] + broken + raw[len(raw) // 2 :]))


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_file_that_is_taken_for_another(name: str) -> None:
    for word in WORDS:
        judged(("source.txt", TEXTS[name]), options=("--from", word))


ENDLESS = examples(500_000, 3_000_000)
"""Characters of which a quadratic reader takes minutes."""


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_line_without_an_end(name: str) -> None:
    text = TEXTS[name]
    for known in [each for each in ("gb-11-n1", "r11", "n1") if each in text][:2]:
        judged(("source.txt", text.replace(known, known + "x" * ENDLESS, 1)), most=20)
    judged(("source.txt", text + " " * ENDLESS), most=20)


DEEP = {
    "lists": "[" * 200_000,
    "mappings": '{"items":' * 100_000,
    "closed": "[" * 3000 + "]" * 3000,
    "nodes": '{"apiVersion": "v1", "kind": "List", "items": ' + "[" * 100_000,
    "instances": '{"instances": [' + '{"labels": ' * 50_000,
    "aliases": "\n".join(
        ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    ),
    "brackets": "BlockName=a Nodes=" + "n[1-2]" * 10_000,
    "names": "BlockName=a Nodes=n[0-999999999]",
    "products": "BlockName=a Nodes=n" + "[1-9]" * 12,
    "commas": "SwitchName=a Nodes=" + "," * 1_000_000,
    "blocks": "BlockName=a Nodes=n1\n" * 20_000,
    "numbers": json.dumps({"Instances": [{"InstanceId": "i", "NetworkNodes": [10**400, "a"]}]}),
    "infinity": '{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Node", "metadata": 1e999}]}',
    "nothing": "",
    "blanks": "\n" * 100_000,
    "zeros": "\0" * 100_000,
    "a line": "x" * 5_000_000,
    "tabs": "\t" * 100_000,
}


@pytest.mark.parametrize("name", sorted(DEEP))
def test_what_would_never_end(name: str) -> None:
    said = judged(("source.txt", DEEP[name]), most=20)
    assert said.code


JSON = sorted(name for name, text in TEXTS.items() if text.lstrip()[:1] in ("{", "["))
YAML = sorted(name for name, text in TEXTS.items() if name not in JSON and re.match(r"---|\w+:", text))
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just([[]]),
    st.just({"a": [None]}),
)


def changed(data: Any, draw: st.DataObject) -> Any:
    """The data with something else in one place."""
    if isinstance(data, dict) and data and draw.draw(st.integers(0, 5)):
        key = draw.draw(st.sampled_from(sorted(data)))
        if not draw.draw(st.integers(0, 9)):
            return {other: value for other, value in data.items() if other != key}
        return {**data, key: changed(data[key], draw)}
    if isinstance(data, list) and data and draw.draw(st.integers(0, 5)):
        place = draw.draw(st.integers(0, len(data) - 1))
        how = draw.draw(st.integers(0, 9))
        middle = [] if not how else [data[place]] * 2 if how == 1 else [changed(data[place], draw)]
        return [*data[:place], *middle, *data[place + 1 :]]
    return draw.draw(odd)


loose = settings(max_examples=examples(6, 25), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", JSON)
@loose
@given(draw=st.data())
def test_data_with_something_else_in_a_place(name: str, draw: st.DataObject) -> None:
    data = json.loads(TEXTS[name])
    for _ in range(draw.draw(st.integers(1, 3))):
        data = changed(data, draw)
    judged(
        ("source.json", json.dumps(data)),
        options=draw.draw(st.sampled_from([(), ("--from", name)])) if name in WORDS else (),
    )


@pytest.mark.parametrize("name", YAML)
@loose
@given(draw=st.data())
def test_documents_with_something_else_in_a_place(name: str, draw: st.DataObject) -> None:
    documents = list(parse_all(TEXTS[name]))
    for _ in range(draw.draw(st.integers(1, 3))):
        documents = changed(documents, draw)
        documents = documents if isinstance(documents, list) else [documents]
    judged(("source.yaml", yaml.safe_dump_all(documents)))


def test_flavors_with_something_else_for_a_toleration() -> None:
    documents = list(parse_all(TEXTS["kueue-with-nodes"]))
    (flavor,) = [each for each in documents if each["kind"] == "ResourceFlavor"]
    for key, wrong in [("tolerations", ["x"]), ("nodeTaints", [1.5]), ("nodeLabels", ["x"]), ("nodeLabels", {"a": 1})]:
        other = {**flavor, "spec": {**flavor["spec"], key: wrong}}
        said = judged(("source.yaml", yaml.safe_dump_all([other if each is flavor else each for each in documents])))
        assert [each["code"] for each in said.found if each["severity"] == "error"] == ["T461"]


@pytest.mark.parametrize("name", sorted(set(TEXTS) - set(JSON)))
@loose
@given(draw=st.data())
def test_lines_that_are_mixed_up(name: str, draw: st.DataObject) -> None:
    lines = TEXTS[name].splitlines(keepends=True)
    for _ in range(draw.draw(st.integers(1, 4))):
        start, size, to = (draw.draw(st.integers(0, len(lines))) for _ in range(3))
        piece = lines[start : start + size % 5]
        del lines[start : start + draw.draw(st.integers(0, 2))]
        lines[to:to] = piece
        if lines and draw.draw(st.booleans()):
            place = draw.draw(st.integers(0, len(lines) - 1))
            cut = draw.draw(st.integers(0, len(lines[place])))
            lines[place] = lines[place][:cut] + draw.draw(st.text(max_size=3)) + lines[place][cut + 1 :]
    judged(("source.txt", "".join(lines)))


@pytest.mark.parametrize(
    "one", sample(["slurm-topology-conf", "hypernodes", "kueue-with-nodes", "cloud-aws", "nodes-json", "ufm"], 1)
)
@pytest.mark.parametrize("two", sorted(TEXTS))
def test_sources_that_are_mixed(one: str, two: str) -> None:
    """Beside each other, and one behind the other in one file."""
    judged(("one.txt", TEXTS[one]), ("two.txt", TEXTS[two]))
    judged(("both.txt", TEXTS[one] + "\n" + TEXTS[two]))
    judged(("both.yaml", TEXTS[one] + "\n---\n" + TEXTS[two]))


def test_two_fabrics_that_cross() -> None:
    """The same hosts, sorted into other racks."""
    other = fabric_texts.Hall(tuple(zip(*hall().units, strict=True)), block=2, core=True)
    said = judged(("one.txt", fabric_texts.ibnetdiscover(hall())), ("two.txt", fabric_texts.ibnetdiscover(other)))
    assert said.code == 1
    said = judged(("one.yaml", hyper_nodes()), ("two.txt", fabric_texts.ibnetdiscover(other)))
    assert said.code == 1


@pytest.mark.skipif(not SAMPLES, reason="no upstream examples here")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_upstreams_files_broken(path: Path) -> None:
    raw = path.read_bytes()
    for part in (2, 5, 7):
        judged(("source.txt", raw[: len(raw) * part // 8]), most=20)
    middle = len(raw) // 2
    judged(("source.txt", raw[:middle] + raw[middle + 37 :]), most=20)
    judged(("source.txt", raw.replace(b"\n", b"\r\n")), most=20)
    judged(("source.txt", raw + raw), most=20)


OTHERS = (
    ("show", "source.txt"),
    ("diff", "hall.yaml", "source.txt"),
    ("diff", "source.txt", "hall.yaml"),
    ("check", "hall.yaml", "--live", "source.txt"),
    ("check", "source.txt"),
    ("export", "source.txt", "--to", "slurm"),
    ("import", "source.txt", "--update", "hall.yaml", "-o", "out.yaml"),
    ("import", "source.txt", "--update", "hall.yaml", "--from", "osmo-pool", "-o", "out.yaml"),
)
"""What else is asked of topologies."""


@pytest.mark.parametrize("name", sorted({*TEXTS, *DEEP}))
def test_no_command_stumbles(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hall.yaml").write_text(native_text(), encoding="utf-8")
    whole = TEXTS.get(name) or DEEP[name]
    for text in (whole, whole[: len(whole) // 2])[: 2 if name in TEXTS else 1]:
        Path("source.txt").write_text(text, encoding="utf-8")
        for command in sample(OTHERS, 2, sorted({*TEXTS, *DEEP}).index(name)):
            code = run(["topology", *command])
            assert code in (0, 1, 2), (command, capsys.readouterr().err)
