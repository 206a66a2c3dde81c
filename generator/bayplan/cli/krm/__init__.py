"""`bayplan krm` and `bayplan-krm`: a function of kustomize. It reads and writes a ResourceList.

The kind of the configuration selects the work: `ExpandWorkflows`, `PlaceWorkloads`, `ValidateWorkloads`, or a
`Workflow` to generate from. With an argument it is a legacy plugin: the argument is the file of the configuration, and
the objects are a plain stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bayplan import schemas
from bayplan.cli import files
from bayplan.cli.finish import finish
from bayplan.cli.krm.job import API_VERSION, KINDS, NAMES, Answer, Job
from bayplan.cli.options import Arguments
from bayplan.clients import resource_list
from bayplan.clients.resource_list import Item, ResourceList
from bayplan.core.diagnostics import KEY, Diagnostic, Outcome, error
from bayplan.core.phrases import suggest
from bayplan.kube.objects import get, is_kind, mapping, text
from bayplan.report import Batch
from bayplan.text.document import Document
from bayplan.text.source import text_of


def run(args: Arguments) -> int:
    """Reads standard input and writes the result. With errors, it writes only for callers that read `results`."""
    request, batch = _input(args.words)
    if request is None:
        return finish(args, [batch])
    job = _job(args, request)
    if job.value is None:
        config = request.config if isinstance(request.config, dict) else {}
        refused = Job(args, config, request.items, request.document)
        return _write(refused, Answer(None, [Batch(job.diagnostics)]))
    if wrong := _misplaced(job.value):
        return _write(job.value, Answer(None, [Batch(wrong)]))
    module, _, function = KINDS[job.value.config["kind"]].partition(".")
    answer: Answer = getattr(__import__(f"bayplan.cli.krm.{module}", fromlist=[function]), function)(job.value)
    return _write(job.value, answer)


def _input(words: Sequence[str]) -> tuple[ResourceList | None, Batch]:
    """A ResourceList. For a legacy plugin, its configuration file and a stream, which may be empty."""
    raw = files.raw_of("-", resource_list.SUBJECT)
    text = Document(resource_list.NAME, text_of(raw.value or b""), 0, None)
    if raw.value is not None and not words:
        listed = resource_list.parse(raw.value)
        return listed.value, Batch(listed.diagnostics, {resource_list.SUBJECT: text})
    documents, batch = files.load(words[0], "function", own=False) if words else ((), Batch(()))
    if raw.value is None or not documents:
        both = {**batch.sources, resource_list.SUBJECT: text}
        return None, Batch((*raw.diagnostics, *batch.diagnostics), both)
    items = resource_list.stream(raw.value)
    request = None if items.value is None else ResourceList(items.value, documents[0].data, document=documents[0])
    return request, Batch(items.diagnostics, {resource_list.SUBJECT: text})


def _job(args: Arguments, request: ResourceList) -> Outcome[Job]:
    """The job of the configuration. A960: bayplan has no such function."""
    config = _configured(request.config)
    kind = str(config.get("kind")) if isinstance(config, dict) else ""
    if kind not in KINDS or config.get("apiVersion") != API_VERSION:
        return Outcome(None, (_unknown(config),))
    wrong = schemas.validate(kind, config, "function") if kind != "Workflow" else ()
    if wrong:
        return Outcome(None, wrong)
    read = (request.items, request.document, request.version)
    given = frozenset(args.options)
    return Outcome(Job(_merged(args, config), config, *read, bool(args.words), given, request.results))


def _configured(config: Any) -> Any:
    """The configuration that a ConfigMap describes, as kpt makes one of `-- key=value`. `function`: its kind."""
    if not is_kind(config, "", "ConfigMap"):
        return config
    words = {str(key): str(value) for key, value in mapping(config, "data").items()}
    kind = words.pop("function", "PlaceWorkloads")
    spec: dict[str, Any] = {}
    for key, value in words.items():
        pairs = [pair.partition("=")[::2] for pair in value.split(",")]
        switch = {"true": True, "false": False}.get(value, value) if key in _SWITCHES else value
        spec[key] = dict(pairs) if key == "target" else value.split(",") if key in _CODES else switch
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": config.get("metadata", {}), "spec": spec}


def _unknown(config: Any) -> Diagnostic:
    if not isinstance(config, dict):
        hint = "kustomize passes the file that is listed under `transformers:`, `generators:` or `validators:`"
        return error("A960", (resource_list.SUBJECT,), "the ResourceList has no functionConfig", hint=hint)
    kind, version = str(config.get("kind")), config.get("apiVersion")
    message = f"bayplan has no function of kind {kind} and apiVersion {version}"
    if kind in KINDS:
        return error("A960", ("function", "apiVersion"), message, hint=f"write `apiVersion: {API_VERSION}`")
    return error("A960", ("function", "kind"), message, hint=suggest(kind, KINDS))


def _misplaced(job: Job) -> tuple[Diagnostic, ...]:
    """A964: the function is in a list where it does nothing, or deletes everything.

    bayplan parses the kustomization only if it has such a list.
    """
    kind = job.config["kind"]
    words = (b"generators:", b"transformers:" if kind == "ValidateWorkloads" else b"validators:")
    written = next((files.raw_of(name, "kustomization").value or b"" for name in NAMES if files.found(name)), b"")
    copied = len(job.items) == 1 and kind in (job.items[0].text or str(job.items[0].data))
    if not copied and not any(word in written for word in words):
        return ()
    from bayplan.cli.krm import kustomizations

    key = kustomizations.wrong_list(job)
    return tuple(kustomizations.misplaced(job.config["kind"], key, ("function", "kind"))) if key else ()


def _merged(args: Arguments, config: Mapping[str, Any]) -> Arguments:
    """The options of the configuration and of the command line, which wins."""
    spec = config.get("spec", {}) if config["kind"] != "Workflow" else {}
    options: dict[str, tuple[str, ...]] = {
        **{key: (spec[key],) for key in ("topology", "scheduler", "policy") if key in spec},
        **{option: ("",) for key, option in _SWITCHES.items() if spec.get(key)},
    }
    if "target" in spec:
        options["target"] = tuple(f"{name}={version}" for name, version in spec["target"].items())
    options.update({option: tuple(spec[key]) for key, option in _CODES.items() if key in spec})
    return args._replace(options={**options, **args.options})


_CODES = {"accept": "accept", "failOn": "fail-on"}
_SWITCHES = {"strict": "strict", "clusterObjects": "cluster-objects", "includeHooks": "include-hooks"}
"""Key of the spec of a function -> option: lists of codes, and switches."""


def _at_key(diagnostic: Diagnostic, job: Job) -> Diagnostic:
    """The diagnostic of an option or of a file that cannot be read, at the key of the configuration that has it."""
    option = files.named_by(diagnostic)
    if option in job.given:
        return diagnostic
    spec = mapping(job.config, "spec") if job.config.get("kind") != "Workflow" else {}
    key = {option: key for key, option in _CODES.items()}.get(option, option)
    place = ("function", "spec", key) if key in spec else ("function",)
    return files.at_name(diagnostic, place)


def _with_config(batch: Batch, job: Job) -> Batch:
    """The batch with the configuration among its sources."""
    config = Document("functionConfig", "", 0, job.config)
    diagnostics = tuple(_at_key(each, job) for each in batch.diagnostics)
    return batch._replace(diagnostics=diagnostics, sources={"function": config, **batch.sources})


def _write(job: Job, answer: Answer) -> int:
    """Writes the answer and the report."""
    from bayplan.cli import output as stdout

    batches = answer.batches
    results: list[Any] = []
    if any(batch.diagnostics for batch in batches):
        from bayplan.cli.krm.kustomizations import with_files
        from bayplan.report.findings import findings

        own = [_with_config(batch, job) for batch in batches]
        batches = with_files(job, own)
        about = _subjects(own, batches) if job.keeps_results else {}
        results = [resource_list.result(each, about.get((each.place, each.code), {})) for each in findings(batches)]
    if answer.items is not None:
        return finish(job.args, batches, lambda: stdout.write(_text(job, answer.items or (), results)))
    code = finish(job.args, batches)
    if job.keeps_results and not job.plugin:
        stdout.write(_text(job, job.items, results))
    return code


def _text(job: Job, items: Sequence[Item | str], results: list[Any]) -> Iterable[str]:
    if job.plugin:
        return resource_list.streamed(items)
    silent = job.config.get("kind") == "ValidateWorkloads" and not items
    if job.keeps_results:
        items = [resource_list.in_block_style(each) for each in items]
    return () if silent else resource_list.listed(job.version, items, [*job.results, *results])


def _subjects(own: Sequence[Batch], located: Sequence[Batch]) -> dict[tuple[Any, str], dict[str, Any]]:
    """Place and code of a finding -> its `resourceRef` and `field` (kyaml/fn/framework/result.go at 5.8.1)."""
    from bayplan.report.findings import places, source_route

    subjects: dict[tuple[Any, str], dict[str, Any]] = {}
    for before, after in zip(own, located, strict=True):
        routes = places([each.route for each in after.diagnostics], after)
        for diagnostic, place in zip(before.diagnostics, routes, strict=True):
            route = source_route(diagnostic.route, before.origins)
            data = before.sources[str(route[0])].data if route and route[0] in before.sources else None
            inside = next((part for part in range(1, len(route)) if _named(get(data, *route[1:part]))), 0)
            if inside:
                subjects.setdefault((place, diagnostic.code), _about(get(data, *route[1:inside]), route[inside:]))
    return subjects


def _named(data: Any) -> bool:
    return bool(text(data, "kind") and text(data, "metadata", "name"))


def _about(data: Any, path: Sequence[Any]) -> dict[str, Any]:
    reference = {key: data[key] for key in ("apiVersion", "kind") if key in data}
    name = {key: text(data, "metadata", key) for key in ("name", "namespace") if text(data, "metadata", key)}
    steps = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path if key != KEY)
    return {"resourceRef": {**reference, **name}, **({"field": {"path": steps[1:]}} if steps else {})}
