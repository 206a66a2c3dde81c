"""Document -> validated data -> model value, with the origins that lead back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bayplan import schemas, workflows
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error, has_errors
from bayplan.core.phrases import did_you_mean
from bayplan.core.values import NamedTuple
from bayplan.model.formats import Context, Source, detect
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.text.document import Document, read, read_text
from bayplan.topologies import native
from bayplan.workflows import osmo, sbatch

if TYPE_CHECKING:
    from bayplan.model.formats import TextFormat
    from bayplan.model.policy import Policy


T = TypeVar("T")


class Read(NamedTuple, Generic[T]):
    """A value, what was found on the way, and model route -> source route where they differ."""

    value: T | None
    diagnostics: tuple[Diagnostic, ...] = ()
    origins: Mapping[Route, Route] = {}


def documents(name: str, raw: bytes, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The documents of a workflow's file: formats of texts make their own, others are as they are.

    Errors R103 to R159; A912: it is a file of such a format, and another was asked for; A920: there are variables, and
    the format has none.
    """
    for each in workflows.TEXTS.values():
        if source.format == each.NAME or raw[:2] in _UTF_16 or any(mark in raw for mark in each.MARKS):
            text = read_text(raw, subject).value or ""
            if source.format == each.NAME or each.claims(text):
                return _text(each, name, raw, text, subject, source)
    found = read(name, raw, subject)
    wrong = [*_without_variables(source), *(d for each in found.value or () for d in _unsplit(each, subject, source))]
    return Outcome(None, (*found.diagnostics, *wrong)) if wrong else found


_VARIABLES = (osmo.NAME, sbatch.NAME)
"""Formats that take --set."""

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How a text begins that says so; no word of it is found among the bytes."""


def _text(
    chosen: "TextFormat", name: str, raw: bytes, text: str, subject: str, source: Source
) -> Outcome[tuple[Document, ...]]:
    """The documents of a text that is a file of a format, or is said to be one."""
    if source.format not in ("", chosen.NAME):
        message = f"this is {chosen.TITLE}, and --from {source.format} reads none"
        return Outcome(None, (error("A912", (subject, AT, chosen.start(text), 1), message, hint="leave --from out"),))
    if raw[:2] in _UTF_16:
        message = f"the file is UTF-16, and {chosen.TITLE} is UTF-8"
        return Outcome(None, (error("R104", (subject, AT, 1, 1), message, hint="save it as UTF-8"),))
    if source.variables and chosen.NAME not in _VARIABLES:
        return Outcome(None, _without_variables(source))
    return chosen.documents(name, raw, text, subject, source)


def _without_variables(source: Source) -> tuple[Diagnostic, ...]:
    if not source.variables:
        return ()
    message = "the format of the workflow has no variables to set"
    return (error("A920", ("argument", "--set"), message, hint="change the value in the workflow file"),)


def _unsplit(document: Document, subject: str, source: Source) -> tuple[Diagnostic, ...]:
    """An OSMO workflow as data whose text is no OSMO file: its template would stay as it is."""
    if source.format or not osmo.sniff(document.data):
        return ()
    hint = "write `workflow:` at the very start of a line, without quotes or a space before the colon"
    return (error("R123", (subject, AT, 1, 1), "the file has no section `workflow:` as OSMO looks for it", hint=hint),)


def workflow(document: Document, name: str = "", context: Context = Context()) -> Read[Workflow]:  # noqa: B008
    """A workflow in the named format, else in the first that recognises it."""
    if name and name not in workflows.FORMATS:
        hint = did_you_mean(name, list(workflows.FORMATS))
        message = f'there is no workflow format "{name}"; there is {", ".join(workflows.FORMATS)}'
        return Read(None, (error("A920", ("argument", "--from"), message, hint=hint),))
    return _read(document, "workflow", "Workflow", _format(workflows.FORMATS, name, document), context)


def topology(document: Document) -> Read[ClusterTopology]:
    """A cluster topology file."""
    return _read(document, "topology", "ClusterTopology", native if native.sniff(document.data) else None, Context())


def policy(document: Document) -> "Read[Policy]":
    """What a Policy file says."""
    from bayplan.workflows import policy as policies

    return _read(document, "policy", "Policy", policies if policies.sniff(document.data) else None, Context())


def _format(formats: Mapping[str, Any], name: str, document: Document) -> Any:
    return formats[name] if name else detect(formats.values(), document.data)


def _read(document: Document, subject: str, kind: str, found: Any, context: Context) -> Read[Any]:
    """The value that a format makes of data that its schema accepts; `found` is the format, if any recognised it."""
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
    """A document of ours of another kind, given in this one's place."""
    data = document.data
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if kind in ("Workflow", "ClusterTopology", "Policy", "Project") and kind != wanted:
        message = f"this is a {kind}; a {wanted} is wanted here"
        hint = "the workflow comes first, the topology after -t"
        hint = "a policy is named after --policy" if "Policy" in (kind, wanted) else hint
        return error("A912", (subject, "kind"), message, hint=hint)
    return None


def _unknown(document: Document, subject: str, wanted: str) -> Diagnostic:
    kind = document.data.get("kind") if isinstance(document.data, Mapping) else None
    found = f'kind "{kind}"' if kind else "no `kind`"
    message = f"this is no {wanted}: it has {found}"
    hint = f"start it with `apiVersion: bayplan.dev/v1alpha1` and `kind: {wanted}`"
    return error("A912", (subject,), message, hint=hint)
