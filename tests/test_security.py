"""What generated pods may do, as SECURITY.md says it: every pod of every example, as the golden files have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from bayplan.kube.pod_security import BASELINE, RESTRICTED, added, as_root, breaches, containers
from tools.golden import Case, cases
from tools.run import EXAMPLES, ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ALLOWED = {"the capability IPC_LOCK", "hostNetwork: true", "a hostPath volume", "privileged: true"}
"""What a pod may have beyond the level baseline, and only as the table of SECURITY.md says."""

NEWEST = {case.backend: case for case in cases()}
"""Examples are rendered for the newest version of each scheduler: the last one listed."""

RENDERED = [case for case in cases() if case.version == NEWEST[case.backend].version]


def pods(value: Any) -> Iterator[Mapping[str, Any]]:
    """The spec of every pod template in a document, wherever it stands."""
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list) and "image" in (value["containers"] or [{}])[0]:
            yield value
        for below in value.values():
            yield from pods(below)
    elif isinstance(value, list):
        for below in value:
            yield from pods(below)


def documents(text: str) -> list[Any]:
    """The objects of a golden file; scripts of Slurm hold none."""
    return [] if "#!/bin/bash" in text else [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def asked(example: str) -> str:
    """The user's own files."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((EXAMPLES / example).glob("*.yaml")))


@pytest.mark.parametrize("backend", NEWEST)
def test_pods_have_nothing_that_the_page_does_not_name(backend: str) -> None:
    for case in RENDERED:
        if case.backend == backend:
            nothing_else(case, asked(case.example))


def nothing_else(case: Case, written: str) -> None:
    """The pods of an example have nothing that the page does not name or the user did not write."""
    for spec in pods(documents(case.path.read_text(encoding="utf-8"))):
        found = {each.what for each in breaches(spec, BASELINE)}
        odd = {each for each in found - ALLOWED if each.rpartition(" ")[2] not in written}  # a user's own capabilities
        assert odd == set(), str(case)
        if "privileged: true" in found:
            assert "privileged: true" in written, str(case)
        if "a hostPath volume" in found:
            assert "hostPath" in written, str(case)
        if "hostNetwork: true" in found:
            assert "hostNetwork" in written or "kind: hostnetwork" in written, str(case)
        if "the capability IPC_LOCK" in found:
            assert "fabrics:" in written or "IPC_LOCK" in written, str(case)
        assert not {"hostPID", "hostIPC"} & set(spec) or "hostPID" in written or "hostIPC" in written, str(case)


def test_the_adopting_job_is_restricted() -> None:
    case = next(each for each in RENDERED if each.example == "files-and-adoption" and each.backend == "kai")
    jobs = [each for each in documents(case.path.read_text(encoding="utf-8")) if each["kind"] == "Job"]
    assert jobs
    for spec in pods(jobs):
        assert not list(breaches(spec, RESTRICTED))
        assert not any(as_root(spec, container) for _, container in containers(spec))


def test_only_ipc_lock_is_added_by_fabrics() -> None:
    names = set(re.findall(r'^LOCK = "(\w+)"', (ROOT / "generator/bayplan/fabrics/__init__.py").read_text(), re.M))
    assert names == {"IPC_LOCK"}
    assert "IPC_LOCK" in PAGE


CONTAINER: dict[str, Any] = {"name": "a", "image": "a"}
SOUND = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.mark.parametrize(
    ("spec", "level", "expected"),
    [
        pytest.param({"containers": [CONTAINER]}, BASELINE, set(), id="plain"),
        pytest.param({"hostPID": True, "containers": []}, BASELINE, {"hostPID: true"}, id="host-pid"),
        pytest.param(
            {"containers": [{**CONTAINER, "securityContext": {"capabilities": {"add": ["CHOWN", "SYS_ADMIN"]}}}]},
            BASELINE,
            {"the capability SYS_ADMIN"},
            id="capabilities",
        ),
        pytest.param(
            {
                "containers": [
                    {**CONTAINER, "securityContext": {**SOUND, "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}}
                ]
            },
            RESTRICTED,
            {"the capability CHOWN"},
            id="restricted-capabilities",
        ),
        pytest.param({"initContainers": [{"ports": [{"hostPort": 80}]}]}, BASELINE, {"a hostPort"}, id="host-port"),
        pytest.param(
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            BASELINE,
            {"seccompProfile Unconfined"},
            id="seccomp",
        ),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
            BASELINE,
            {"the sysctl net.core.somaxconn"},
            id="sysctl",
        ),
        pytest.param(
            {"containers": [{**CONTAINER, "securityContext": {"procMount": "Unmasked"}}]},
            BASELINE,
            {"a procMount other than Default"},
            id="proc",
        ),
        pytest.param(
            {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}},
            BASELINE,
            {"seLinuxOptions with another user, role or type"},
            id="selinux",
        ),
        pytest.param({"containers": [{**CONTAINER, "securityContext": SOUND}]}, RESTRICTED, set(), id="sound"),
        pytest.param(
            {"securityContext": SOUND, "volumes": [{"name": "n", "nfs": {}}], "containers": []},
            RESTRICTED,
            {"a volume of the kind nfs"},
            id="nfs",
        ),
        pytest.param(
            {"containers": [{**CONTAINER, "securityContext": {**SOUND, "runAsUser": 0}}]},
            RESTRICTED,
            {"runAsUser: 0"},
            id="root",
        ),
        pytest.param({"containers": [CONTAINER], "hostIPC": True}, "privileged", set(), id="anything"),
    ],
)
def test_levels_refuse_what_they_refuse(spec: dict[str, Any], level: str, expected: set[str]) -> None:
    assert {each.what for each in breaches(spec, level)} == expected


@pytest.mark.parametrize(
    "odd",
    [None, 1, "text", [], {"a": 1}, [1], [None], [{"name": 1}], {"capabilities": 1}, {"capabilities": {"add": 1}}],
)
def test_specs_of_any_shape_are_judged(odd: Any) -> None:
    for key in ("volumes", "containers", "securityContext", "initContainers"):
        assert isinstance(list(breaches({key: odd}, RESTRICTED)), list)
    inner = {"containers": [{"securityContext": odd, "ports": odd}]}
    assert isinstance(list(breaches(inner, RESTRICTED)), list)
    assert isinstance(added({"securityContext": odd}), tuple)


def test_the_table_of_the_page_is_complete() -> None:
    """Each thing that a test above lets through has its row."""
    rows = re.findall(r"^\| `?([^|`]+)`?", PAGE, re.M)
    assert {"privileged", "capabilities", "hostNetwork", "hostPath"} <= {row.strip() for row in rows}
