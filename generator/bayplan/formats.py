"""Document -> validated data -> model value, with origins that lead back to the document."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from bayplan import plugins, schemas, workflows
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error, has_errors
from bayplan.core.phrases import did_you_mean
from bayplan.model.formats import Context, Source, detect
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.text.document import Document, read, read_text
from bayplan.topologies import native

if TYPE_CHECKING:
    from bayplan.model.policy import Policy


T = TypeVar("T")


class Read(NamedTuple, Generic[T]):
    """A value, the diagnostics, and model route -> source route if they differ."""

    value: T | None
    diagnostics: tuple[Diagnostic, ...] = ()
    origins: Mapping[Route, Route] = {}


def documents(name: str, raw: bytes, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The documents of a workflow file. A format that is not YAML, such as sbatch, makes its own documents.

    Errors R103 to R159. A912: --from names another format than the file has. A920: --set is given, and the format has
    no variables.
    """
    any_row = raw[:2] in _UTF_16
    marked = [row for row in workflows.ROWS if any_row or source.format == row.name or row.is_marked(raw)]
    for row in marked:
        text = read_text(raw, subject).value or ""
        if source.format == row.name or workflows.TEXTS[row.name].claims(text):
            return _text(row, name, raw, text, subject, source)
    documents = read(name, raw, subject)
    for row in marked if not source.format else ():
        if any(workflows.TEXTS[row.name].sniff(document.data) for document in documents.value or ()):
            return workflows.TEXTS[row.name].documents(name, raw, "", subject, source)  # keys are quoted or indented
    if message := plugins.unread(read_text(raw, subject).value or "") if plugins.absent() else "":
        return Outcome(None, (error("A912", (subject, AT, 1, 1), message, hint=plugins.WAY),))
    wrong = _without_variables(source)
    return Outcome(None, (*documents.diagnostics, *wrong)) if wrong else documents


_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16. The marks of a format do not match the bytes of such a file."""


def _text(
    chosen: workflows.TextRow, name: str, raw: bytes, text: str, subject: str, source: Source
) -> Outcome[tuple[Document, ...]]:
    """The documents of a file whose format is not YAML."""
    if source.format not in ("", chosen.name):
        message = f"this is {chosen.title}, which --from {source.format} does not read"
        return Outcome(
            None,
            (
                error(
                    "A912", (subject, AT, workflows.TEXTS[chosen.name].start(text), 1), message, hint="leave --from out"
                ),
            ),
        )
    if raw[:2] in _UTF_16:
        message = f"the file is UTF-16; {chosen.title} must be UTF-8"
        return Outcome(None, (error("R104", (subject, AT, 1, 1), message, hint="save it as UTF-8"),))
    if source.variables and not chosen.variables:
        return Outcome(None, _without_variables(source))
    return workflows.TEXTS[chosen.name].documents(name, raw, text, subject, source)


def _without_variables(source: Source) -> tuple[Diagnostic, ...]:
    if not source.variables:
        return ()
    message = "this workflow format has no variables for --set"
    return (error("A920", ("argument", "--set"), message, hint="change the value in the workflow file"),)


def workflow(document: Document, name: str = "", context: Context = Context()) -> Read[Workflow]:  # noqa: B008
    """A workflow in the named format, or in the first format that recognizes it."""
    if name and name not in workflows.FORMATS:
        hint = plugins.WAY if plugins.without(name) else did_you_mean(name, list(workflows.FORMATS))
        message = (
            plugins.without(name)
            or f'unknown workflow format: "{name}"; the formats are {", ".join(workflows.FORMATS)}'
        )
        return Read(None, (error("A920", ("argument", "--from"), message, hint=hint),))
    read = _read(document, "workflow", "Workflow", _format(workflows.FORMATS, name, document), context)
    if read.value and any(gang.matrix for gang in read.value.gangs) and native.sniff(document.data):
        from bayplan.workflows import matrix

        read = read._replace(diagnostics=(*read.diagnostics, *matrix.respelled(document)))
    return read


def topology(document: Document) -> Read[ClusterTopology]:
    """A cluster topology file."""
    return _read(document, "topology", "ClusterTopology", native if native.sniff(document.data) else None, Context())


def policy(document: Document) -> "Read[Policy]":
    """A Policy file."""
    from bayplan.workflows import policy as policies

    return _read(document, "policy", "Policy", policies if policies.sniff(document.data) else None, Context())


def _format(formats: Mapping[str, Any], name: str, document: Document) -> Any:
    name = name or detect(formats, document.data)
    return formats[name] if name else None


def _read(document: Document, subject: str, kind: str, found: Any, context: Context) -> Read[Any]:
    """The value of data that the schema accepts. `found` is the format that recognized the data, if any."""
    wrong = _kind(document, subject, kind)
    if found is None or wrong:
        return Read(None, (wrong or _unknown(document, subject, kind),))
    invalid = schemas.validate(found.SCHEMA, document.data, subject)
    if has_errors(invalid):
        return Read(None, invalid)
    made, diagnostics = found.read(document.data, context)
    value, origins = made or (None, {})
    return Read(value, (*invalid, *diagnostics), origins)


def _kind(document: Document, subject: str, wanted: str) -> Diagnostic | None:
    """A912: a document of another kind of bayplan's own formats."""
    data = document.data
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if kind in ("Workflow", "ClusterTopology", "Policy", "Project") and kind != wanted:
        message = f"this file is a {kind}, not a {wanted}"
        hint = "pass the workflow as an argument, and the topology with -t"
        hint = "pass the policy with --policy" if "Policy" in (kind, wanted) else hint
        hint = "run `bayplan generate`, which reads bayplan.yaml" if kind == "Project" else hint
        return error("A912", (subject, "kind"), message, hint=hint)
    return None


def _unknown(document: Document, subject: str, wanted: str) -> Diagnostic:
    """A912: a document that no format recognizes."""
    from bayplan.kube.other_files import recognize

    begin = f"begin it with `apiVersion: bayplan.dev/v1alpha1` and `kind: {wanted}`"
    if other := recognize(document):
        return error("A912", (subject,), f"this file is {other.title}, not a {wanted}", hint=other.hint)
    data = document.data if isinstance(document.data, Mapping) else {}
    missing = "kind" if data.get("apiVersion") else "apiVersion"
    message = f"this file has no `{missing}`, so it is not a {wanted}"
    return error("A912", (subject,), message, hint=f"{begin}{_OTHERS.get(wanted, '')}")


_OTHERS = {
    "Workflow": "; bayplan also reads OSMO workflows, sbatch scripts and TorchX applications",
    "ClusterTopology": ", or make a topology with `bayplan topology import`",
}
"""What a file may be instead."""
