"""What OSMO itself does with workflow files: `python osmo_judge.py CHECKOUT POOL`, run by `tools.osmo_corpus`.

It needs a Python with OSMO's requirements, and no bayplan. Each line of standard input is a JSON list: a workflow file
and the assignments of `--set`. Each line of standard output is what OSMO's client and service make of it:
`{"refused": ...}`, or the values of its tasks as the service stores them. The code is OSMO's own, from the command
`osmo workflow submit` to the topology of the PodGroups.
Only the database, the registries and the other workflows are made up: the images exist, and so do the credentials.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import io
import json
import logging
import math
import sys
import types
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

SECONDS = 0.5
"""How long a template may run: OSMO's default."""

SCHEMES = ("s3", "gs", "swift", "tos", "azure")
WORKFLOW_ID = "\ue000id\ue000"
HOST = "\ue000host {}\ue000"
"""What the values have for `{{workflow_id}}` and `{{host:TASK}}`."""


class Credential:
    """A credential that has every key."""

    def __contains__(self, key: object) -> bool:
        return key != ""

    def keys(self) -> Credential:
        """All keys."""
        return self


class Osmo:
    """OSMO's modules with a made-up database."""

    def __init__(self, pool: Mapping[str, Any]) -> None:
        stub = types.ModuleType("src.utils.metrics")  # its __init__ imports by another name of the package
        stub.__path__ = [f"{sys.path[0]}/src/utils/metrics"]
        sys.modules["src.utils.metrics"] = stub
        names = {
            "cli": "src.cli.workflow",
            "objects": "src.service.core.workflow.objects",
            "service": "src.service.core.workflow.workflow_service",
            "workflow": "src.utils.job.workflow",
            "task": "src.utils.job.task",
            "topology": "src.utils.job.topology",
            "connectors": "src.utils.connectors",
            "common": "src.lib.utils.common",
        }
        for name, module in names.items():
            setattr(self, name, import_module(module))
        self.rendered: tuple[Any, Mapping[str, str]] | None = None
        connectors = self.connectors
        self.pool = connectors.Pool(**pool)
        self.config = connectors.WorkflowConfig(
            max_num_tasks=10**6,
            credential_config={"disable_data_validation": list(SCHEMES)},
            user_workflow_limits={"jinja_sandbox_max_time": SECONDS},
        )
        database = mock.Mock(spec=connectors.PostgresConnector)
        database.get_workflow_configs.return_value = self.config
        database.get_all_data_creds.return_value = {}
        database.get_generic_cred.return_value = Credential()
        database.get_matching_registry_creds.return_value = []
        settings = mock.Mock(scheduler_type=connectors.BackendSchedulerType.KAI)
        backend = mock.Mock(scheduler_settings=settings, k8s_namespace="ns")
        context = self.objects.WorkflowServiceContext.model_construct(config=mock.Mock(), database=database)
        self.objects.WorkflowServiceContext.set(context)
        connectors.PostgresConnector.get_instance = lambda *_, **__: database
        connectors.parse_username = lambda *_: "user"
        connectors.Pool.fetch_from_db = lambda *_: copy.deepcopy(self.pool)
        connectors.Backend.fetch_from_db = lambda *_: backend
        self.task.Task.fetch_from_db = lambda *_: mock.Mock()
        self.common.registry_auth = lambda *_: mock.Mock(status_code=200, headers={})
        self.objects.get_resources = lambda **_: mock.Mock(resources=[])
        submit = self.objects.WorkflowSubmitInfo
        submit.insert_failed_submission_to_db = mock.Mock()
        submit.build_workflow_object = mock.Mock()
        submit.send_workflow_spec_to_queue = mock.Mock()
        submit.send_submit_workflow_to_queue = self._accept

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _accept(self, spec: Any, uuids: Mapping[str, str], *_: Any, **__: Any) -> Any:
        """In place of the queue: the service has accepted the workflow."""
        self.rendered = (spec, dict(uuids))
        return self.objects.SubmitResponse(name="w-1", overview="", logs="")

    def _request(self, _method: Any, _path: str, payload: Any, params: Mapping[str, Any]) -> Any:
        """The client's request, without HTTP."""
        template = self.workflow.TemplateSpec(**json.loads(json.dumps(payload)))
        reply = self.service.submit_workflow(
            "pool", template, dry_run=params.get("dry_run", False), env_vars=[], label_overrides=[], roles_header=""
        )
        return reply.model_dump()

    def judge(self, name: str, assignments: list[str]) -> dict[str, Any]:
        """The verdict on a file."""
        self.rendered = None
        client = mock.Mock(request=self._request)
        options = mock.Mock(
            pool="pool", priority=None, labels=[], workflow_file=name, set=assignments, set_string=[], dry=False
        )
        options.rsync, options.format_type, options.set_env = None, "json", []
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                self.cli._submit_workflow(client, options)
        except (Exception, RecursionError) as problem:
            return {"refused": f"{type(problem).__name__}: {problem}"[:600]}
        assert self.rendered is not None
        try:
            return self._values(*self.rendered)
        except (Exception, RecursionError) as problem:
            return {"breaks": f"{type(problem).__name__}: {problem}"[:600]}

    def _values(self, spec: Any, uuids: Mapping[str, str]) -> dict[str, Any]:
        """What the service makes of an accepted workflow when it starts the groups."""
        timeout = spec.timeout.model_copy()
        timeout.fill_defaults(self.config, self.pool)
        groups = []
        for group in spec.groups:
            parsed = group.parse(None, WORKFLOW_ID, uuids)
            hosts = {each.name: uuids[each.name] for each in group.tasks}
            tasks = [self._task(each, hosts, uuids[group.name]) for each in parsed.tasks]
            groups.append({"name": group.name, "tasks": tasks, "domains": list(self._domains(parsed))})
        return {
            "name": spec.name,
            "labels": spec.labels,
            "exec": timeout.exec_timeout.total_seconds(),
            "queue": timeout.queue_timeout.total_seconds(),
            "groups": groups,
        }

    def _task(self, task: Any, hosts: Mapping[str, str], group: str) -> dict[str, Any]:
        """A task, in the words of its container."""
        secret, folder = "\ue000secret", "\ue000folder"
        container = task.to_pod_container(
            [], [], [], secret, folder, bool(task.resources.gpu and task.resources.gpu > 0)
        )
        creds = [
            (name, key) for name, each in task.credentials.items() if isinstance(each, dict) for key in each.values()
        ]
        keys = {f"{name}.{key}": [name, key] for name, key in creds}
        env: dict[str, Any] = {}
        for each in container["env"]:  # Kubernetes uses the last of each name
            source = each.get("valueFrom", {}).get("secretKeyRef", {})
            if source.get("name") != folder:
                env[each["name"]] = keys[source["key"]] if source else each["value"]
        tokens = task.resources.get_allocatable_tokens({}, task.cacheSize)
        sizes = {key: tokens[f"USER_{key.upper()}_B"] for key in ("memory", "storage")}
        values = {
            "image": task.image,
            "command": task.command,
            "args": task.args,
            "env": env,
            "files": {each.path: _contents(each.encoded_contents()) for each in task.files},
            "folders": {name: path for name, path in task.credentials.items() if isinstance(path, str)},
            "mounts": task.volumeMounts,
            "privileged": task.privileged,
            "hostNetwork": task.hostNetwork,
            "exitActions": [[action.upper(), codes] for action, codes in task.exitActions.items()],
            "cpu": task.resources.cpu,
            "gpu": task.resources.gpu,
            **{key: None if size is None else math.ceil(size) for key, size in sizes.items()},
            "platform": task.resources.platform,
            "excluded": task.resources.nodesExcluded,
            "lead": task.lead,
            "inputs": [getattr(each, "task", "") for each in task.inputs],
        }
        written = json.dumps(values)
        for name, uuid in hosts.items():
            address = f"{uuid}.{self.common.get_group_subdomain_name(group)}.ns.svc.cluster.local"
            written = written.replace(address, json.dumps(HOST.format(name))[1:-1])
        return {"name": task.name, **json.loads(written)}

    def _domains(self, group: Any) -> Iterator[dict[str, Any]]:
        """The domains of a group: the tasks in each, the label of its level, and whether it is required."""
        tasks = []
        for each in group.tasks:
            needs = [
                self.topology.TopologyRequirement(need.key, need.group, need.requirementType.value == "required")
                for need in each.resources.topology
            ]
            tasks.append(self.topology.TaskTopology(each.name, needs))
        keys = [self.topology.TopologyKey(each.key, each.label) for each in self.pool.topology_keys]
        built = self.topology.PodGroupTopologyBuilder(keys).build(tasks)
        inside: dict[str, list[str]] = {each["name"]: [] for each in built.subgroups}
        parents = {each["name"]: each.get("parent") for each in built.subgroups}
        for task, leaf in built.task_subgroups.items():
            name: str | None = leaf
            while name:
                inside[name].append(task)
                name = parents[name]
        if built.top_level_constraint:
            yield from _levels([each.name for each in tasks], built.top_level_constraint)
        for each in built.subgroups:
            yield from _levels(inside[each["name"]], each["topologyConstraint"])


def _levels(tasks: list[str], constraint: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for key, label in constraint.items():
        yield {"tasks": sorted(tasks), "label": label, "required": key == "requiredTopologyLevel"}


def _contents(encoded: str) -> Any:
    """The text of a file, as Kubernetes decodes it from a Secret; other bytes as a list with their base64."""
    raw = base64.b64decode(encoded.replace("\r", "").replace("\n", ""), validate=True)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return [base64.b64encode(raw).decode()]


def main() -> None:
    """Judge each file that a line names."""
    checkout, pool = sys.argv[1:]
    sys.path.insert(0, checkout)
    logging.disable(logging.CRITICAL)
    osmo = Osmo(json.loads(Path(pool).read_text(encoding="utf-8")))
    for line in sys.stdin:
        print(json.dumps(osmo.judge(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
