"""bayplan as a scheduler of TorchX (0.7 and 0.8). Its dry run is the output of `bayplan render` for the application.

Only TorchX loads this module, in one of two ways. `python -m bayplan.plugins.torchx.scheduler run -s bayplan ...` is
the torchx command with bayplan among its schedulers. The distribution in torchx-plugin/ registers it for the torchx
command, where any registered scheduler replaces the built-in list of TorchX (torchx/schedulers/__init__.py).
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torchx.schedulers.api import DescribeAppResponse, ListAppResponse, Scheduler
from torchx.specs import AppDef, AppDryRunInfo, AppState, CfgVal, runopts
from torchx.specs.finder import ComponentValidationException

NAME = "bayplan"
LABEL = "bayplan.dev/workflow"
KINDS = "jobsets,jobs.batch,jobs.batch.volcano.sh,pods,services,configmaps,podgroups,workloads"
"""Kinds of objects in a workflow. A cluster may lack some of them, so bayplan deletes them kind by kind."""

RUN_OPTIONS: Mapping[str, str] = {
    "topology": "the cluster topology file",
    "scheduler": "kai, volcano, kueue, ... (default: the scheduler of the topology)",
    "target": "versions, such as `kubernetes=1.34;jobset=0.12`",
    "arguments": "additional arguments of `bayplan render`, quoted as in a shell",
}
PLACEMENT: Mapping[str, str] = {
    "workload": "the kind of workload: jobset, job, pods, volcano-job",
    "required": "the topology level at which all pods must share one domain",
    "preferred": "the topology level at which all pods share one domain if possible",
    "pool": "the pool of all roles",
    "fabric": "the secondary network of all roles",
}
"""Options of bayplan for a run and for pods."""

KUBERNETES: Mapping[str, str] = {
    "queue": "the queue",
    "namespace": "the namespace",
    "service_account": "the ServiceAccount of the pods",
    "priority_class": "the PriorityClass",
    "image_secret": "the Secret to pull images with",
    "network": "networks to attach, in the format of Multus",
}
"""Options of the Kubernetes scheduler of TorchX."""

PHASES: Mapping[str, AppState] = {
    "Failed": AppState.FAILED,
    "Running": AppState.RUNNING,
    "Pending": AppState.PENDING,
    "Succeeded": AppState.SUCCEEDED,
}
"""Phase of a pod -> state of the application. The first phase that any pod has decides."""


ABOUT_CFG = """Set options of bayplan with -cfg, such as -cfg scheduler=volcano,topology=topology.yaml.
<stdin> is the application that TorchX built; --dryrun -s local_cwd prints it."""


class RefusedError(ComponentValidationException, ValueError):
    """An error that the torchx command prints without a traceback."""


class Request(NamedTuple):
    """The manifests of an application, and its namespace and name."""

    manifests: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return self.manifests


class BayplanScheduler(Scheduler[Mapping[str, CfgVal]]):
    """Renders manifests with `bayplan render`, and applies them with `kubectl`."""

    def __init__(self, session_name: str) -> None:
        super().__init__(NAME, session_name)

    def _run_opts(self) -> runopts:
        options = runopts()
        for name, text in {**RUN_OPTIONS, **PLACEMENT, **KUBERNETES}.items():
            options.add(name, type_=str, default=None, required=name == "topology", help=text)
        return options

    def _submit_dryrun(self, app: AppDef, cfg: Mapping[str, CfgVal]) -> AppDryRunInfo[Request]:
        manifests = rendered(application(app, cfg), cfg)
        return AppDryRunInfo(Request(manifests, *_names(manifests)), str)

    def _validate(self, app: AppDef, scheduler: str, *_: Any) -> None:
        """Nothing: `bayplan render` validates the application."""

    def schedule(self, dryrun_info: AppDryRunInfo[Request]) -> str:
        """Create the objects, and return `namespace:name`."""
        request = dryrun_info.request
        kubectl(["create", "-f", "-"], request.manifests)
        return f"{request.namespace}:{request.name}"

    def describe(self, app_id: str) -> DescribeAppResponse | None:
        """The state from the phases of its pods; None without pods."""
        namespace, _, name = app_id.partition(":")
        state = _states(["-n", namespace, "-l", f"{LABEL}={name}"]).get(app_id)
        return DescribeAppResponse(app_id=app_id, state=state) if state is not None else None

    def list(self, *_: Any, **__: Any) -> list[ListAppResponse]:
        """The applications whose pods are in the cluster."""
        return [ListAppResponse(app_id=key, state=state) for key, state in _states(["-A", "-l", LABEL]).items()]

    def _cancel_existing(self, app_id: str) -> None:
        namespace, _, name = app_id.partition(":")
        for kind in KINDS.split(","):
            command = ["delete", kind, "-n", namespace, "-l", f"{LABEL}={name}", "--ignore-not-found", "--wait=false"]
            kubectl(command, absent=True)


def _states(selection: Sequence[str]) -> dict[str, AppState]:
    """`namespace:name` of each application whose pods kubectl selects -> its state, by the phases of its pods."""
    phases: dict[str, set[str]] = {}
    for pod in json.loads(kubectl(["get", "pods", *selection, "-o", "json"]))["items"]:
        metadata = pod["metadata"]
        app_id = f"{metadata['namespace']}:{metadata['labels'][LABEL]}"
        phases.setdefault(app_id, set()).add(pod.get("status", {}).get("phase", "Pending"))
    states = {app_id: [PHASES[phase] for phase in PHASES if phase in each] for app_id, each in phases.items()}
    return {app_id: each[0] for app_id, each in states.items() if each}


def create_scheduler(session_name: str, **_: object) -> BayplanScheduler:
    """The factory that TorchX calls."""
    return BayplanScheduler(session_name)


def application(app: AppDef, cfg: Mapping[str, CfgVal]) -> str:
    """The application as JSON, with the values of -cfg for pods."""
    options = {key: value for key, value in cfg.items() if value is not None and key not in RUN_OPTIONS}
    placement = {f"bayplan.dev/{key}": value for key, value in options.items() if key in PLACEMENT}
    scheduler_args = {key: value for key, value in options.items() if key not in PLACEMENT}
    data = dataclasses.asdict(app)
    data["metadata"] = {**(data.get("metadata") or {}), **placement}
    return json.dumps({**data, **({"scheduler_args": scheduler_args} if scheduler_args else {})}, default=str)


def rendered(text: str, cfg: Mapping[str, CfgVal]) -> str:
    """The output of `bayplan render`. RefusedError: its diagnostics, if it refuses the application."""
    import shlex

    options = ["-t", str(cfg["topology"])]
    options += ["--scheduler", str(cfg["scheduler"])] if cfg.get("scheduler") else []
    options += [word for each in str(cfg.get("target") or "").split(";") if each for word in ("--target", each)]
    options += shlex.split(str(cfg.get("arguments") or ""))
    command = [sys.executable, "-m", "bayplan", "render", "-", "--from", "torchx", *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RefusedError(f"bayplan refuses the application:\n{done.stderr}{ABOUT_CFG}")
    sys.stderr.write(done.stderr)
    return done.stdout


def _names(manifests: str) -> tuple[str, str]:
    """The namespace and the name of the workflow, as its manifests have them."""
    import yaml

    for each in yaml.safe_load_all(manifests):
        metadata = (each or {}).get("metadata", {})
        if LABEL in metadata.get("labels", {}):
            return metadata.get("namespace", "default"), metadata["labels"][LABEL]
    return "default", ""


def kubectl(words: Sequence[str], stdin: str = "", *, absent: bool = False) -> str:
    """The output of kubectl. `absent`: the cluster may lack the kind."""
    program = os.environ.get("KUBECTL", "kubectl")
    try:
        done = subprocess.run([program, *words], input=stdin, capture_output=True, text=True, check=False)
    except OSError as reason:
        message = f"cannot run {program}: {reason.strerror}; install kubectl, or set its path in KUBECTL"
        raise RefusedError(message) from reason
    if done.returncode and not (absent and "the server doesn't have a resource type" in done.stderr):
        raise RefusedError(f"kubectl {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def main(words: Sequence[str]) -> None:
    """The torchx command with bayplan among its schedulers."""
    from torchx.cli.main import main as torchx

    from torchx import schedulers

    modules: Any = schedulers.DEFAULT_SCHEDULER_MODULES
    modules[NAME] = "bayplan.plugins.torchx.scheduler"
    try:
        torchx(list(words))
    except ComponentValidationException as reason:  # only `run` catches it; Python loads this module under two names
        sys.exit(str(reason))


if __name__ == "__main__":
    main(sys.argv[1:])
