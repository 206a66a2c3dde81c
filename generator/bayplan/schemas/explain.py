"""The errors of a document against its schema: one diagnostic for each, at its place.

bayplan loads this module and jsonschema only for an invalid document, or in a checkout without generated validators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from operator import gt, lt
from typing import Any, NamedTuple

from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing, shorten, suggest

MOST = 100
"""The most errors in a report. A document with more is probably of another kind."""

TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
}


def explain(schema: Mapping[str, Any], data: Any, subject: str) -> tuple[Diagnostic, ...]:
    """Every error of the data, in the order of the schema. The caller knows that there are errors, so never empty."""
    found = list(islice(_findings(schema, data, subject), MOST + 1))
    if len(found) > MOST:
        found[MOST:] = [
            warning("S209", (subject,), f"there are more than {MOST} errors; this report has the first {MOST}")
        ]
    heads = tuple(each for each in found if each.route[1:] in (("kind",), ("apiVersion",)))
    if heads:  # another format, so that its keys are not errors
        return heads
    return tuple(found) or (error("S210", (subject,), "the document does not match its schema"),)


def accepts(schema: Mapping[str, Any], data: Any) -> bool:
    """Whether the data matches the schema. Slower than a generated validator, with the same result."""
    try:
        return next(_Validator(schema, registry=Registry()).iter_errors(data), None) is None
    except RecursionError:
        return False


def _findings(schema: Mapping[str, Any], data: Any, subject: str) -> Iterator[Diagnostic]:
    try:
        strange = [*islice(_strange_keys(data, (subject,)), MOST + 1)]
        yield from strange or _explained(schema, data, subject)
    except RecursionError:
        yield error("R103", (subject,), "the document has too many nested mappings and lists", hint="flatten it")


def _strange_keys(data: Any, route: Route) -> Iterator[Diagnostic]:
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(key, str):
                yield from _strange_keys(value, (*route, key))
            else:
                found = f"found {describe(key)} as a key, expected a string"
                yield error("S202", route, found, hint="put the key in quotes")
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _strange_keys(value, (*route, index))


def _explained(schema: Mapping[str, Any], data: Any, subject: str) -> Iterator[Diagnostic]:
    reported: set[Route] = set()  # an empty name is too short and has the wrong form: the first is enough
    for found in _Validator(schema, registry=Registry()).iter_errors(data):
        shown = _examples(schema, found)
        of_key = "propertyNames" in [*found.absolute_schema_path][-2:-1]
        each = Refusal(found.validator, found.validator_value, found.instance, found.schema, of_key, shown)
        for diagnostic in EXPLAIN.get(each.keyword, _other)(each, (subject, *found.absolute_path)):
            if diagnostic.code == "S204" or diagnostic.route not in reported:
                reported.add(diagnostic.route)
                yield diagnostic


class Refusal(NamedTuple):
    """A keyword of the schema, its value, and the invalid value or, with `of_key`, the invalid key of a mapping."""

    keyword: Any
    wanted: Any
    instance: Any
    schema: Any
    of_key: bool
    examples: tuple[Any, ...] = ()  # of valid values


def _examples(schema: Any, found: ValidationError) -> tuple[Any, ...]:
    """The examples of the invalid field: next to a `$ref` or in its target."""
    node, examples = schema, ()
    for step in found.absolute_schema_path:
        examples = tuple(node.get("examples", ())) or examples if isinstance(node, dict) else examples
        while isinstance(node, dict) and "$ref" in node:
            node = schema["definitions"][node["$ref"].rpartition("/")[2]]
            examples = examples or tuple(node.get("examples", ()))
        node = node[step]
        if step in ("properties", "items", "additionalProperties", "patternProperties", "propertyNames"):
            examples = ()
    return examples


def _pattern(_validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # re's "$" also matches before a final newline, ECMA's does not. Strings beyond maxLength have another error.
    if not isinstance(instance, str) or len(instance) > schema.get("maxLength", len(instance)):
        return
    if not re.search(pattern.replace("$", r"\Z"), instance):
        yield ValidationError("pattern")


def _required(_validator: Any, required: list[str], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    missing = [key for key in required if key not in instance] if isinstance(instance, dict) else []
    if missing:
        yield ValidationError("required", instance=missing)


def _limit(keyword: str, exceeds: Callable[[float, float], bool]) -> Callable[..., Iterator[ValidationError]]:
    # jsonschema writes the number into a message, which fails for very large integers.
    def check(_validator: Any, limit: float, instance: Any, _schema: Any) -> Iterator[ValidationError]:
        if isinstance(instance, int | float) and not isinstance(instance, bool) and exceeds(instance, limit):
            yield ValidationError(keyword)

    return check


_OWN = {"pattern": _pattern, "required": _required, "minimum": _limit("minimum", lt), "maximum": _limit("maximum", gt)}
_Validator: Any = extend(Draft7Validator, _OWN)  # type: ignore[no-untyped-call]


def describe(value: Any) -> str:
    """A value as part of a sentence: `the number 1.5`, `"text"`, `a list`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{shorten(value)}"'
        case int() | float():
            return f"the number {_number(value)}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return f"the date {value}" if _is_date(value) else f"a value of type {type(value).__name__}"


def _is_date(value: Any) -> bool:
    """Whether a value is a date or time of YAML. No other value in data has this method."""
    return hasattr(value, "isoformat")


def _number(value: Any) -> str:
    try:
        return shorten(str(value))
    except ValueError:  # Python does not convert integers of more than 4,300 digits
        return "with thousands of digits"


def _additional_properties(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    known = each.schema["properties"]
    for key in each.instance:
        if key not in known:
            free = [name for name in known if name not in each.instance]
            hint = (
                _elsewhere(key, known) or did_you_mean(key, known) or suggest("", free, "allowed keys") or "remove it"
            )
            yield error("S201", (*route, key, KEY), f'unknown key "{shorten(key)}"', hint=hint)


_OF_PODS = """
    affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases hostIPC hostNetwork hostPID
    nodeSelector resourceClaims runtimeClassName securityContext shareProcessNamespace tolerations
    topologySpreadConstraints
"""
_OF_CONTAINERS = "imagePullPolicy lifecycle stdin tty volumeDevices"
_OF_POD_SETS = """
    envFrom imagePullSecrets initContainers livenessProbe readinessProbe serviceAccount sidecars startupProbe
    terminationGracePeriodSeconds volumes workingDir
"""
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(_OF_PODS.split(), "template: {{spec: {{{0}: ...}}}}"),
    **dict.fromkeys(_OF_CONTAINERS.split(), "template: {{spec: {{containers: [{{name: PODSET, {0}: ...}}]}}}}"),
    **dict.fromkeys(_OF_POD_SETS.split(), "{0}: ..."),
    "serviceAccountName": "serviceAccount: ...",
    "volumeMounts": "volumes: {{PATH: {{...}}}}",
    "containers": "image: ..., command: [...], args: [...]",
    **dict.fromkeys(("annotations", "labels"), "template: {{metadata: {{{0}: ...}}}}"),
    **dict.fromkeys(("gpu", "gpus", "nvidia.com/gpu"), "accelerator: {{count: ...}}"),
    **dict.fromkeys(("cpu", "memory", "limits", "requests"), "resources: {{cpu: ..., memory: ...}}"),
    **dict.fromkeys(("completions", "count", "nodes", "parallelism"), "replicas: ..."),
}
"""Keys that a user may expect in a podSet, and what to write instead; {0} is the key. Kubernetes' own come first."""


def _elsewhere(key: str, known: Iterable[str]) -> str:
    """The hint for a key of a pod, in a podSet of a Workflow or above one, and for a key that a format has lost."""
    if key == "dataset" and "regex" in known:  # OSMO 6.4, src/utils/job/task.py
        return "OSMO 6.4 has no datasets: write the folder in the object store, as in `url: s3://BUCKET/FOLDER`"
    if key not in _ELSEWHERE or not {"wholeNode", "podSets", "gangs"} & set(known):
        return ""
    where = "" if "wholeNode" in known else " in the podSet"
    return f"write{where}: `{_ELSEWHERE[key].format(key)}`"


def _type(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    expected = [each.wanted] if isinstance(each.wanted, str) else each.wanted
    words = [TYPES[name] for name in expected]
    wanted = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    message = f"found {describe(each.instance)}, expected {wanted}"
    yield error(
        "S202",
        route,
        message,
        hint=_quoted(each, expected) or _cast(each.instance, expected, str(route[-1])) or _example(each),
    )


def _quoted(each: Refusal, expected: list[str]) -> str:
    """The hint to put the value in quotes, if the field takes a string. A field for numbers or null has its own form.

    The original text is not known here: 1.10 is 1.1, and PyYAML reads 12:30 as 750.
    """
    value = each.instance
    if "string" not in expected or ("null" in expected and len(expected) > 2):
        return ""
    if isinstance(value, bool) and each.examples and all(str(example)[:1].isdigit() for example in each.examples):
        return ""  # an amount or a duration
    if not (isinstance(value, int | float) or _is_date(value)):
        return ""
    written = str(value).lower() if isinstance(value, bool) else _number(value)
    return "put it in quotes" if re.search(each.schema.get("pattern", ""), written) else ""


def _example(each: Refusal) -> str:
    """An example of a valid value, from the schema."""
    from json import dumps

    shown = dumps(each.examples[0], ensure_ascii=False) if each.examples and not each.of_key else ""
    return f"for example: {shown}" if 0 < len(shown) <= 80 else ""


def _cast(value: Any, expected: list[str], key: str) -> str:
    if "integer" in expected and isinstance(value, str) and value.isdecimal():
        return "remove the quotes"
    if expected == ["array"] and isinstance(value, str):
        return _list_of_words(value, key)
    if expected == ["array"] and isinstance(value, dict):
        return "write a list: begin each entry with a dash"
    if key == "volumes" and isinstance(value, list):
        return "write a mapping by path: {/data: {claim: ...}}"
    if expected == ["object"] and isinstance(value, list) and all(_is_variable(each) for each in value):
        names = ", ".join(f"{each['name']}: ..." for each in value[:3])
        return f"write a mapping: {{{names}}}"
    if isinstance(value, dict) and key in ("limits", "requests"):
        return f"write the amounts without `{key}:`; they are both requests and limits"
    if expected == ["object"] and value is None:
        return "write {} for an empty mapping"
    return ""


def _is_variable(value: Any) -> bool:
    """Whether the value is an environment variable as Kubernetes has it."""
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _list_of_words(value: str, key: str) -> str:
    """The hint for a string instead of a list. A command line becomes words, or the argument of a shell."""
    from json import dumps
    from shlex import split

    words = [shorten(value)]
    if key in ("command", "args") and len(value) <= _LONGEST_COMMAND:
        try:
            words = split(value)
        except ValueError:
            return "close the open quote, and write a list of words"
        if not words or re.search(r"[|&;<>()$`*?~\[\n]|^\w+=|(^|\s)#", value):
            if key == "args":
                return 'only a shell reads this: write the whole command line as command: ["sh", "-c", "..."]'
            words = ["sh", "-c", value]
    return f"write a list: {dumps(words, ensure_ascii=False)}"


_LONGEST_COMMAND = 300


def _enum(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    words = [value for value in each.wanted if isinstance(value, str)]
    wanted = listing(words) if words else " or ".join(map(str, each.wanted))
    hint = did_you_mean(each.instance, words) if isinstance(each.instance, str) else ""
    yield error("S206", route, f"found {describe(each.instance)}, expected {wanted}", hint=hint)


def _missing(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    for key in each.instance:
        yield error("S204", route, f'missing key "{key}"', hint=f'add "{key}:"')


RANGES: Mapping[str, str] = {
    "minimum": "expected {} or more",
    "maximum": "expected {} or less",
    "minLength": "expected at least {} characters",
    "maxLength": "expected at most {} characters",
    "minItems": "expected at least {} entries",
    "maxItems": "expected at most {} entries",
    "maxProperties": "expected at most {} entries",
}


def _range(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    wanted = RANGES[each.keyword].format(each.wanted)
    if each.wanted == 1:
        wanted = wanted.replace("characters", "character").replace("entries", "entry")
    count = len(each.instance) if each.keyword in ("maxLength", "minItems", "maxItems", "maxProperties") else None
    found = describe(each.instance) if count is None else f"{describe(each.instance)} of {count}"
    yield error("S206", _named(each, route), f"found {found}, {wanted}", hint=_example(each))


def _form(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    message = f"{describe(each.instance)} is not {each.schema['description']}"
    hint = 'write it without the "v"' if re.fullmatch(r"v[0-9.]+", each.instance) else _example(each)
    yield error("S206", _named(each, route), message, hint=hint)


def _named(each: Refusal, route: Route) -> Route:
    """The route of the key if the key is invalid, not that of its mapping."""
    return (*route, each.instance, KEY) if each.of_key else route


def _unique(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    for index, value in enumerate(each.instance):
        if value in each.instance[:index]:
            yield error("S206", (*route, index), f"{describe(value)} is listed twice", hint="remove one of the two")


def _other(each: Refusal, route: Route) -> Iterator[Diagnostic]:
    yield error("S210", route, f'{describe(each.instance)} does not match the rule "{each.keyword}" of the schema')


EXPLAIN: Mapping[str, Callable[[Refusal, Route], Iterator[Diagnostic]]] = {
    "additionalProperties": _additional_properties,
    "type": _type,
    "enum": _enum,
    "required": _missing,
    **dict.fromkeys(RANGES, _range),
    "pattern": _form,
    "uniqueItems": _unique,
}
"""Schema keyword -> the diagnostics of its errors."""
