"""The tables of fields in docs/reference/, made from schemas/: `python tests/tools/refresh_docs.py` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    ROOT / "docs" / "reference" / f"{page}.md": ROOT / "schemas" / f"{schema}.json"
    for page, schema in (("workflow", "workflow"), ("topology", "cluster-topology"))
}
"""Page -> the schema of its format."""

MARKED = re.compile(r"(?<=<!-- fields -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = "| field | type | meaning |\n|---|---|---|\n"
SAME = {"podSetDefaults": "podSet"}
"""Definition -> the one that describes its fields."""
NAMED = ("duration", "hostlist", "quantity")
"""Definitions of strings whose name says more than "string"."""

Node = Mapping[str, Any]


def filled(page: Path, text: str) -> str:
    """The page with its tables as the schema has them now."""
    return MARKED.sub(lambda _: "\n" + "\n".join(tables(json.loads(PAGES[page].read_text("utf-8")))) + "\n", text)


def tables(schema: Node) -> Iterator[str]:
    """A table for the document, and one with a heading for each object that it refers to, in the schema's order."""
    used: dict[str, None] = {}
    made = {"": _table(_rows(schema, schema, "", used))}
    while waiting := [name for name in used if name not in made]:
        for name in waiting:
            made[name] = f"### {name}\n\n{_table(_rows(schema, schema['definitions'][name], '', used))}"
    yield from (made[name] for name in ("", *schema["definitions"]) if name in made)


def _table(rows: Iterator[tuple[str, str, str]]) -> str:
    """A line for each field. Fields with equal names, types and meanings share a line."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for path, type_, meaning in rows:
        lines.setdefault((path.rpartition(".")[2], type_, meaning), []).append(f"`{path}`")
    return HEAD + "".join(f"| {', '.join(paths)} | {what} | {why} |\n" for (_, what, why), paths in lines.items())


def _rows(schema: Node, node: Node, prefix: str, used: dict[str, None]) -> Iterator[tuple[str, str, str]]:
    for key, field in node["properties"].items():
        path = f"{prefix}{key}"
        inner = field.get("items", field.get("additionalProperties") or field)
        if isinstance(inner, dict) and inner.get("properties"):
            step = {"array": "[].", "object": "." if inner is field else ".NAME."}[field["type"]]
            yield from _rows(schema, inner, path + step, used)
        elif field.get("properties") != {}:
            required = "; required" if key in node.get("required", ()) else ""
            default = f" Default: `{json.dumps(field['default']).strip(chr(34))}`." if "default" in field else ""
            meaning = f"{field['description']}{default}".replace("|", "\\|")
            yield path, f"{_type(schema, field, used)}{required}", meaning


def _type(schema: Node, field: Node, used: dict[str, None]) -> str:
    name = field.get("$ref", "").rpartition("/")[2]
    name = SAME.get(name, name)
    node = schema["definitions"][name] if name else field
    if name in NAMED:
        return name
    if "enum" in node:
        return ", ".join(f"`{each}`" for each in node["enum"])
    types = [node["type"]] if isinstance(node["type"], str) else node["type"]
    return " or ".join(_of(schema, name, node, each, used) for each in types)


def _of(schema: Node, name: str, node: Node, type_: str, used: dict[str, None]) -> str:
    if type_ == "array":
        return f"list of {_plural(_type(schema, node['items'], used))}"
    if type_ != "object":
        return type_
    if "properties" in node:
        used[name] = None
        return f"[{name}](#{name.lower()})"
    values = node.get("additionalProperties")
    return f"map of {_plural(_type(schema, values, used))}" if isinstance(values, dict) else "object"


def _plural(type_: str) -> str:
    return re.sub(r"quantity\b", "quantities", re.sub(r"\b(string|integer|boolean|hostlist)\b", r"\1s", type_))
