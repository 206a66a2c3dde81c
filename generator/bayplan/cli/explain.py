"""`bayplan explain`: the section of a code, or the description of a field. `bayplan schema`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from bayplan.cli import output
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.cli.schema_fields import Field, Json, all_fields, fields_of
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.package_data import data_text
from bayplan.core.phrases import did_you_mean
from bayplan.report import Batch
from bayplan.report.codes import sections

FACTS = {
    "enum": "one of",
    "const": "always",
    "default": "default",
    "minimum": "at least",
    "maximum": "at most",
    "minItems": "items, at least",
    "maxItems": "items, at most",
    "maxLength": "characters, at most",
    "pattern": "pattern",
}
"""Keywords of JSON Schema -> their words."""

TYPES = {
    "object": "mapping",
    "array": "list",
    "string": "string",
    "integer": "integer",
    "boolean": "boolean",
}
"""Types of JSON Schema -> their words."""


def find(query: str) -> list[Field]:
    """The fields whose path ends in the last word and contains the others in order, shortest path first."""
    words = tuple(word.partition("[")[0] for word in query.split("."))
    native_fields = _found(words, native=True)
    read_only = [] if native_fields and native_fields[0].path == words else _found(words, native=False)
    return read_only if not native_fields or (read_only and read_only[0].path == words) else native_fields


def _found(words: tuple[str, ...], native: bool) -> list[Field]:
    ends = []
    for field in fields_of(native):
        rest = iter(field.path)
        if field.path[-1] == words[-1] and all(word in rest for word in words):  # all occur, in order
            ends.append(field)
    exact = [field for field in ends if field.path[-len(words) :] == words]
    begun = [each for each in fields_of(native) if _begins(each.path, words)] if not exact else []
    return [*begun, *sorted(exact or ends, key=lambda field: len(field.path))]


def _begins(path: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether `workflow.priority` is the beginning of a field of the spec, such as priorityClassName."""
    return len(path) == 3 and len(words) == 2 and path[0] == words[0] and path[2].startswith(words[1])


def explain(query: str) -> str | None:
    """The description of a field, and a list of other fields with this name. None: there is no such field."""
    fields = find(query)
    if not fields:
        return None
    lines = [*_described(fields[0])]
    if len(fields) > 1:
        lines += ["", "also:", *(f"  {each.name}" for each in fields[1:])]
    return "\n".join(lines) + "\n"


def _described(field: Field) -> Iterator[str]:
    schema = field.schema
    yield f"{field.name}: {_type(schema)}"
    yield ""
    yield schema.get("description", "")
    facts = [f"{word}: {_text(schema[key])}" for key, word in FACTS.items() if key in schema]
    facts += [f"example: {_text(each)}" for each in schema.get("examples", ())]
    yield from (["", *facts] if facts else [])
    below = (each for each in all_fields() if each.path[:-1] == field.path)
    keys = [(each.path[-1], each.schema.get("description", "")) for each in below]
    yield from ("", "keys:", *(f"  {line}" for line in output.table(keys))) if keys else ()


def _type(schema: Json) -> str:
    """`list`, `string`, ..."""
    kind = schema.get("type", "string" if "enum" in schema else "any")
    return " or ".join(TYPES.get(each, each) for each in ([kind] if isinstance(kind, str) else kind))


def _text(value: Any) -> str:
    import json

    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def run(args: Arguments) -> int:
    """Prints the explanation, or suggests a name. With --why, prints what made a field of a manifest."""
    if args.has("why"):
        from bayplan.cli import why

        return why.run(args)
    wrong = _misused(args)
    if wrong:
        return finish(args, [Batch((wrong,))])
    query = args.words[0]
    code = query.upper()
    text = section(code) if code in sections() else explain(query)
    if text is None:
        return finish(args, [Batch((_unknown(query),))])
    return finish(args, (), lambda: output.write([text]))


def _misused(args: Arguments) -> Diagnostic | None:
    """A920: there is nothing to explain, or an option of --why without it."""
    from bayplan.cli.commands import REPORT

    options = [each for each in args.command.options if args.has(each.key) and each not in REPORT]
    if options:
        option = options[0].names[-1]
        return error("A920", ("argument", option), f"{option} needs --why", hint="add --why MANIFEST")
    if args.words:
        return None
    hint = "name a code or a field, for example: `bayplan explain spec.gangs`"
    return error("A920", ("argument", "CODE|FIELD|OBJECT"), "there is nothing to explain", hint=hint)


def schema(args: Arguments) -> int:
    """Writes the JSON Schema of a format, or without a name those of all into the folder of -o."""
    from bayplan.cli import destination
    from bayplan.cli.commands import SCHEMAS

    texts = {name: data_text("schemas", f"{name}.json") for name in args.words or SCHEMAS}
    if args.words or args.value("output").endswith(os.sep):
        return finish(args, (), destination.schemas(args, texts))
    message = "schema writes all schemas only into a folder"
    hint = f"name one of the formats, or add -o {destination.SCHEMAS}/"
    return finish(args, [Batch((error("A920", ("argument", "NAME"), message, hint=hint),))])


def section(code: str) -> str:
    """The code, its title and its text."""
    title, text = sections()[code]
    return f"{code}: {title}\n\n{text}\n"


def _unknown(query: str) -> Diagnostic:
    message = f'"{query}" is not a code or a field'
    near = {field.name for field in all_fields() if abs(field.name.count(".") - query.count(".")) < 2}
    guess = did_you_mean(query, sections()) or did_you_mean(query, near)
    hint = guess or did_you_mean(query.rpartition(".")[2], {field.path[-1] for field in all_fields()})
    return error("A920", ("argument", "CODE|FIELD|OBJECT"), message, hint=hint or "for example: spec.gangs.placement")
