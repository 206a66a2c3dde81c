"""What a task asks of its pod that the native format leaves to `template`: a partial PodTemplateSpec.

The generated container is the one without a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.workflows.osmo import tokens
from bayplan.workflows.osmo.rules.files import DATA
from bayplan.workflows.osmo.translate import credentials
from bayplan.workflows.osmo.translate.portion import Portion
from bayplan.workflows.osmo.translate.source import Task

DATA_VOLUME = "osmo-data"


def template(task: Task, portion: Portion, deadline: int | None) -> dict[str, Any]:
    """What the platform gives and the task adds. `deadline`: seconds that the pod may run."""
    volumes, mounts = [*_volumes(task, portion)], [*_mounts(task, portion)]
    env = [{"name": name, "valueFrom": source} for name, source in sorted(credentials.variables(task).items())]
    container = {
        **({"securityContext": {"privileged": True}} if task.data.get("privileged") else {}),
        **({"env": env} if env else {}),
        **({"volumeMounts": mounts} if mounts else {}),
    }
    spec = {
        **({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if task.data.get("hostNetwork") else {}),
        **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
        **({"volumes": volumes} if volumes else {}),
        **({"containers": [container]} if container else {}),
    }
    return laid_over(portion.template, {"spec": spec} if spec else {})


def laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Own fields on a platform's: mappings merge, lists follow each other, containers without a name are one."""
    made = dict(base)
    for key, value in own.items():
        if key == "containers" and key in base:
            rest = [each for each in base[key] if "name" in each]
            main: Mapping[str, Any] = next((each for each in base[key] if "name" not in each), {})
            made[key] = [laid_over(main, value[0]), *rest]
        elif isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            made[key] = laid_over(base[key], value)
        elif isinstance(value, list) and isinstance(base.get(key), list):
            made[key] = [*base[key], *value]
        else:
            made[key] = value
    return made


def named(template: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The template; beside sidecars the generated container is called by its name."""
    containers = template.get("spec", {}).get("containers", [])
    if len(containers) < 2:
        return template
    called = [{"name": name, **each} for each in containers]  # only one has no name of its own
    return {**template, "spec": {**template["spec"], "containers": called}}


def _volumes(task: Task, portion: Portion) -> Iterator[dict[str, Any]]:
    if _data_paths(task):
        yield {"name": DATA_VOLUME, "emptyDir": {}}
    yield from credentials.volumes(task)
    for number, mount in enumerate(portion.mounts):
        yield {"name": f"osmo-host-{number}", "hostPath": {"path": mount.partition(":")[0]}}


def _mounts(task: Task, portion: Portion) -> Iterator[dict[str, Any]]:
    for path in _data_paths(task):
        yield {"name": DATA_VOLUME, "mountPath": f"{DATA}/{path}", "subPath": path}
    yield from credentials.mounts(task)
    for number, mount in enumerate(portion.mounts):
        source, _, target = mount.partition(":")
        yield {"name": f"osmo-host-{number}", "mountPath": target or source}


def _data_paths(task: Task) -> list[str]:
    """The folders below DATA that the task may expect: one for each input, and the output's where it is spoken of."""
    inputs = [f"input/{number}" for number in range(len(task.data.get("inputs", ())))]
    named = any(f"{DATA}/output" in text for text, _ in tokens.texts(dict(task.data), ()))
    return [*inputs, *(["output"] if task.data.get("outputs") or named else [])]
