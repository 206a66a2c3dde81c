"""`bayplan diff`: the differences between existing manifests and those that bayplan would write now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from bayplan import plugins
from bayplan.cli import files, inputs, options, output
from bayplan.cli.compiling import compile_all, join
from bayplan.cli.existing import has_objects
from bayplan.cli.finish import finish
from bayplan.cli.lint import lenient, load_manifests
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.kube import owners
from bayplan.kube.objects import kind, name
from bayplan.linting.objects import collect
from bayplan.manifests.diff import Diff, difference
from bayplan.model.manifest import File, Object
from bayplan.pipeline import Planned
from bayplan.report import Batch
from bayplan.text.document import Document
from bayplan.text.document import read as read_document
from bayplan.text.emit import emit


def run(args: Arguments) -> int:
    """Writes the differences. Exit code 1 if there are any."""
    twice = files.stdin_twice(args.words)
    if twice:
        return finish(args, [Batch(twice)])
    if has_objects(args.words[0]) and not any(map(has_objects, args.words[1:])):
        message, hint = "the manifests come after the workflow", f"write `bayplan diff {args.words[1]} {args.words[0]}`"
        return finish(args, [Batch((error("A920", ("argument", "WORKFLOW"), message, hint=hint),))])
    workflow = args._replace(words=args.words[:1])
    read, manifests = inputs.read_all(workflow), load_manifests(args.words[1:])
    compiled, batches = compile_all(workflow, read)
    objects, not_objects = collect(manifests.documents)
    reported = tuple(lenient(each, manifests) for each in not_objects)
    sources = {f"manifest:{number}": document for number, document in enumerate(manifests.documents)}
    batches += [*manifests.batches, Batch(reported, sources)]
    if not compiled or len(compiled) < len(read.workflows):
        return finish(args, batches)
    documents, colliding = join(compiled)
    manifests_text = "".join(emit(each for each in documents if not isinstance(each, File)))
    rendered = read_document("rendered", manifests_text.encode(), "manifest", own=False).value or ()
    message = "the scheduler needs a script, and diff compares only Kubernetes objects"
    script = error("O808", ("workflow",), message, hint="compare the script with `bayplan render -o FILE --check`")
    scripts = (each for each, value in compiled if any(isinstance(item, File) for item in value.documents))
    batches += [Batch((script,), {"workflow": each}) for each in scripts]
    comparison = difference([each.data for each in rendered], objects, compiled[0][1].planned.plan.namespace)
    batches.append(Batch(tuple(_owned(objects, compiled, rendered)), sources))
    drawn = args.value("format") == "svg"
    pieces = _picture(args, read, objects, compiled[0][1].planned) if drawn else _text(args, comparison)
    code = finish(args, [*batches, *colliding], lambda: output.write(pieces))
    return code or (0 if comparison.equal else 1)


def _picture(args: Arguments, read: inputs.Inputs, objects: Sequence[Object], planned: Planned) -> Iterator[str]:
    """Where the pods of the existing manifests fit, and where those of the workflow fit."""
    from bayplan.augment import reading
    from bayplan.model.augment import AugmentRequest

    plan, topology = planned.plan, read.topology
    target = options.target(args).value or {}
    request = topology and AugmentRequest(tuple(objects), topology, namespace=plan.namespace, target=target)
    found = reading.plans(request)[0].value or () if request else ()
    there = [each.planned for each in found if each.planned and each.planned.plan.workflow.name == plan.workflow.name]
    before = [(each.plan._replace(topology=plan.topology), each.fits) for each in there]
    module: Any = import_module(plugins.modules("differences")["svg"])
    yield from module.difference(before, [(plan, planned.fits)])


def _owned(objects: Sequence[Object], compiled: Sequence[Any], rendered: Sequence[Document]) -> Iterator[Diagnostic]:
    """A950: existing workloads that belong to another scheduler than the one of the workflow."""
    planned = compiled[0][1].planned
    scheduler, names = planned.backend.declared.name, owners.names(planned.plan.topology)
    ours = {(kind(each), name(each)) for each in (Object((), document.data) for document in rendered)}
    for one in objects:
        if (kind(one), name(one)) in ours:
            found = owners.foreign(owners.marks(one, names), scheduler)
            hint = f"remove what gives it to {{}}, or delete it before you apply the manifests for {scheduler}"
            yield from owners.belongs(found, f"the workflow is for {scheduler}", hint)


def _text(args: Arguments, comparison: Diff) -> Iterator[str]:
    if args.value("format", "text") == "json":
        import json

        data = {
            "equal": comparison.equal,
            "missing": comparison.missing,
            "left": comparison.left,
            "changed": [
                {"object": one, "fields": [each._asdict() for each in fields]} for one, fields in comparison.changed
            ],
        }
        yield json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        return
    for title, fields in comparison.changed:
        yield f"{title}\n"
        yield from (f"  {each.path}: {_shown(each.before)} -> {_shown(each.after)}\n" for each in fields)
    yield from (f"{title} is missing\n" for title in comparison.missing)
    yield from (f"{title} is left over\n" for title in comparison.left)


LONGEST = 200
"""The most characters of a value to show."""


def _shown(value: Any) -> str:
    """A value in one line."""
    import json

    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
