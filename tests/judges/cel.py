"""The `x-kubernetes-validations` of a CRD, evaluated by the official CEL runtime.

A new object has no old self, so the API server skips transition rules on create. Here `oldSelf` is the object itself:
every rule then also holds for an apply that changes nothing, and none stays uncompiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_optional, ext_strings

from judges.formats import path_of


@cache
def environment() -> Any:
    """Kubernetes' CEL environment, as far as upstream's CRDs use it."""
    return cel.NewEnv(
        variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN},
        extensions=[ext_strings.ExtStrings(), ext_math.ExtMath(), ext_optional.ExtOptional()],
    )


@cache
def program(rule: str) -> Any:
    """A compiled rule."""
    return environment().compile(rule)


def violations(schema: Mapping[str, Any], value: Any, path: tuple[str | int, ...] = ()) -> Iterator[str]:
    """`path: message` of every rule that does not hold of the (defaulted) value or a part of it."""
    for rule in schema.get("x-kubernetes-validations", ()):
        result = program(rule["rule"]).eval(data={"self": value, "oldSelf": value}).value()
        if result is not True:
            yield f"{path_of(path)}: {rule.get('message') or rule['rule']} (CEL: {result})"
    if isinstance(value, dict):
        extra = schema.get("additionalProperties")
        other = extra if isinstance(extra, dict) else {}
        for key, item in value.items():
            yield from violations(schema.get("properties", {}).get(key, other), item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from violations(schema.get("items", {}), item, (*path, index))
