"""What TorchX prints or takes -> the document of an AppDef.

placed.py     made data, and the way back to the text
literal.py    the APPLICATION section of a dry run
request.py    the SCHEDULER REQUEST section, or its objects alone: roles out of tasks; pods.py, common.py: out of pods
run.py        the JSON of `torchx run --stdin`
"""

from __future__ import annotations

from bayplan.diagnostics import AT, Outcome, error
from bayplan.text import document
from bayplan.text.document import Document, Span
from bayplan.values import NamedTuple
from bayplan.workflows.torchx.text import literal, placed, request, run
from bayplan.workflows.torchx.words import APPLICATION, REQUEST


def read(name: str, raw: bytes, text: str, subject: str) -> Outcome[tuple[Document, ...]]:
    """The one document of a TorchX file."""
    if APPLICATION in text:
        return _dry_run(name, text, subject)
    if REQUEST in text:
        section = _section(text, REQUEST)
        return _objects(document.read(name, section.padded.encode(), subject, own=False), text, subject)
    found = document.read(name, raw, subject, own=not text.lstrip().startswith("apiVersion"))
    if found.value and run.sniff(found.value[0].data):
        return run.application(found.value[0], subject)
    objects = [each for each in found.value or () if request.sniff(each.data)]
    return _objects(Outcome(tuple(objects), found.diagnostics), text, subject) if objects else found


class _Section(NamedTuple):
    """A part of the text: its lines, and the number of the first of them."""

    text: str
    line: int

    @property
    def padded(self) -> str:
        """With empty lines before it, so that its lines keep their numbers."""
        return "\n" * (self.line - 1) + self.text


def _section(text: str, title: str) -> _Section:
    """What follows a title, up to the next one."""
    before, _, rest = text.partition(title)
    body = rest.partition("\n")[2]
    for other in (APPLICATION, REQUEST):
        body = body.partition(other)[0]
    return _Section(body, before.count("\n") + 2)


def _dry_run(name: str, text: str, subject: str) -> Outcome[tuple[Document, ...]]:
    """The application of a dry run, with what its request says besides of queue and namespace.

    R146: there are two applications.
    """
    if text.count(APPLICATION) > 1:
        second = text.index(APPLICATION, text.index(APPLICATION) + 1)
        at = (subject, AT, text.count("\n", 0, second) + 1, 1)
        return Outcome(None, (error("R146", at, "the file holds two applications", hint="save each in its own file"),))
    section = _section(text, APPLICATION)
    found = literal.read(section.text, section.line, subject)
    if found.value is None:
        return Outcome(None, found.diagnostics)
    data, spans = found.value
    if isinstance(data, dict) and REQUEST in text:
        objects = document.read(name, _section(text, REQUEST).padded.encode(), subject, own=False)
        asked = next((request.asked(each.data) for each in objects.value or () if request.sniff(each.data)), {})
        data = {**data, **({"scheduler_args": asked} if asked else {})}
    place = placed.from_spans(spans, Span(section.line - 1, 1, section.line - 1, len(APPLICATION) + 1))
    return Outcome((Document(name, text, 0, data, placed.source_map(data, place)),))


def _objects(found: Outcome[tuple[Document, ...]], text: str, subject: str) -> Outcome[tuple[Document, ...]]:
    """The application that objects of TorchX' were made from. R142: there is none, or not one; R145: unequal roles."""
    if found.value is None:
        return Outcome(None, found.diagnostics)
    objects = [each for each in found.value if request.sniff(each.data)]
    if len(objects) != 1:
        what = f"{len(objects)} objects" if objects else "no object"
        message = f"the request holds {what} that TorchX wrote for Volcano or MCAD, and one is wanted"
        hint = "dry-run with `-s kubernetes`, or import the application as JSON"
        return Outcome(None, (*found.diagnostics, error("R142", (subject, AT, 1, 1), message, hint=hint)))
    made = request.application(objects[0], subject)
    if made.value is None:
        return Outcome(None, (*found.diagnostics, *made.diagnostics))
    whole = objects[0]._replace(text=text) if "\n" in text else objects[0]
    kept = placed.made(objects[0], made.value)
    return Outcome(
        (whole._replace(data=kept.data, source_map=kept.source_map),), (*found.diagnostics, *made.diagnostics)
    )
