"""Changed OSMO workflow files: what users mistype, and the borders of what OSMO reads.

The same seed gives the same file.

A mutant comes from one file by one to three changes. Changes of the text are of lines, templates and forms of YAML.
Changes of the structure are of keys, types and values, and write the data in another form of YAML or JSON.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

Edit = Callable[[str, random.Random], str]
Place = tuple[Any, Any]
"""A mapping or list, and the key or index of one of its values."""

_TABLES = yaml.safe_load(Path(__file__).with_name("osmo_values.yaml").read_text(encoding="utf-8"))
SCALARS: Sequence[str] = _TABLES["scalars"]
ODD: Sequence[Any] = _TABLES["odd"]
TOKENS: Sequence[str] = _TABLES["tokens"]
TEMPLATES: Sequence[str] = _TABLES["templates"]
SECTIONS: Sequence[str] = _TABLES["sections"]
UNKNOWN: Sequence[str] = _TABLES["unknown"]
OPTIONAL: Mapping[str, Sequence[str]] = _TABLES["optional"]
VALUES: Mapping[str, Sequence[Any]] = {key: each["values"] for each in _TABLES["values"] for key in each["keys"]}


def mutant(text: str, data: Any, seed: str) -> str:
    """A changed file. `data`: what the file's template renders to, or None."""
    chosen = random.Random(seed)
    if data is not None and chosen.random() < 0.7:
        for _ in range(chosen.choice((0, 1, 1, 1, 1, 2))):
            data = changed(data, chosen)
        result = written(data, chosen)
        return result if chosen.random() < 0.9 else chosen.choice(EDITS)(result, chosen)
    for _ in range(chosen.choice((1, 1, 1, 2))):
        text = chosen.choice(EDITS)(text, chosen)
    return text


# Changes of the structure.


def changed(data: dict[str, Any], chosen: random.Random) -> dict[str, Any]:
    """The data with one change."""
    data = copy.deepcopy(data)
    with suppress(
        TypeError, AttributeError, KeyError, IndexError, ValueError
    ):  # an earlier change may have left nothing
        chosen.choice(CHANGES)(data, chosen)
    return data


def _places(value: Any) -> Iterator[Place]:
    """The places of all values."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def _value(data: Any, chosen: random.Random) -> None:
    """Another value at the borders of what OSMO accepts for the key."""
    places = [(owner, key) for owner, key in _places(data) if isinstance(key, str) and key in VALUES]
    names = sorted({key for _, key in places})  # each key as often as the others
    name = chosen.choice(names)
    owner, key = chosen.choice([each for each in places if each[1] == name])
    owner[key] = copy.deepcopy(chosen.choice(VALUES[key]))


def _odd(data: Any, chosen: random.Random) -> None:
    owner, key = chosen.choice(list(_places(data)))
    owner[key] = copy.deepcopy(chosen.choice(ODD))


def _delete(data: Any, chosen: random.Random) -> None:
    owner, key = chosen.choice(list(_places(data)))
    del owner[key]


def _add(data: Any, chosen: random.Random) -> None:
    """A key that the mapping may have, with a value at its borders, or a key that it may not have."""
    owner, kind = chosen.choice(list(_owners(data["workflow"])))
    if chosen.random() < 0.15:
        owner[chosen.choice(UNKNOWN)] = chosen.choice(("x", None, 5))
    else:
        key = chosen.choice(OPTIONAL[kind])
        owner[key] = copy.deepcopy(chosen.choice(VALUES[key]))


def _owners(flow: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    yield flow, "workflow"
    tasks = list(flow.get("tasks") or ())
    for group in flow.get("groups") or ():
        yield group, "group"
        tasks += group["tasks"]
    yield from ((each, "task") for each in tasks)
    yield from ((each, "resource") for each in (flow.get("resources") or {}).values())
    if "timeout" in flow:
        yield flow["timeout"], "timeout"


def _rename(data: Any, chosen: random.Random) -> None:
    """A key in another spelling."""
    owner, key = chosen.choice([(owner, key) for owner, key in _places(data) if isinstance(key, str)])
    change = chosen.choice(
        (str.upper, str.lower, str.title, lambda k: k + "s", lambda k: k[:-1], lambda k: f" {k}", lambda k: k + " ")
    )
    items = [(change(k) if k == key else k, v) for k, v in owner.items()]
    owner.clear()
    owner.update(items)


def _repeat(data: Any, chosen: random.Random) -> None:
    """An entry of a list twice."""
    owner, key = chosen.choice([each for each in _places(data) if isinstance(each[0], list)])
    other = copy.deepcopy(owner[key])
    if isinstance(other, dict) and "name" in other and chosen.random() < 0.7:
        other["name"] = f"{other['name']}-2"
        other.pop("lead", None)
    owner.insert(chosen.randrange(len(owner) + 1), other)


def _token(data: Any, chosen: random.Random) -> None:
    """A token in a string."""
    texts = [each for each in _places(data["workflow"]) if isinstance(each[0][each[1]], str)]
    owner, key = chosen.choice(texts)
    names = [owner[key] for owner, key in _places(data) if key == "name" and isinstance(owner[key], str)]
    token = chosen.choice(TOKENS).replace("NAME", chosen.choice(names))
    owner[key] = chosen.choice((token, f"{owner[key]}{token}", f"{token} {owner[key]}"))


def _regroup(data: Any, chosen: random.Random) -> None:
    """Tasks become a group, or groups become tasks, or change their order."""
    flow = data["workflow"]
    if flow.get("tasks"):
        tasks = flow.pop("tasks")
        if chosen.random() < 0.8:
            tasks[0]["lead"] = True
        flow["groups"] = [{"name": "grouped", "tasks": tasks}] if chosen.random() < 0.7 else tasks
    elif chosen.random() < 0.5:
        flow["tasks"] = [task for group in flow.pop("groups") for task in group["tasks"]]
    else:
        chosen.choice([flow["groups"], *(group["tasks"] for group in flow["groups"])]).reverse()


CHANGES = (
    *(_value, _value, _value, _value, _value, _value, _odd, _delete, _add, _add, _add, _add, _add, _rename, _repeat),
    *(_token, _token, _regroup),
)


def written(data: dict[str, Any], chosen: random.Random) -> str:
    """The data in one of the forms of YAML."""
    form = chosen.randrange(10)
    if form < 5:
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=200)
    if form < 7:
        return yaml.safe_dump(data, sort_keys=True, width=40, indent=4)
    if form == 7:
        return yaml.safe_dump(data, default_flow_style=True, sort_keys=False)
    if form == 8:
        return yaml.safe_dump(data, default_style=chosen.choice(("'", '"', "|")), sort_keys=False)
    try:
        return json.dumps(data, indent=chosen.choice((None, 2)), ensure_ascii=chosen.random() < 0.5)
    except TypeError:  # a date, or a key that JSON does not have
        return yaml.safe_dump(data)


# Changes of the text.


def _line(text: str, chosen: random.Random, change: Callable[[str], str], wanted: str = r"\S") -> str:
    """The text with one line changed."""
    lines = text.split("\n")
    numbers = [number for number, line in enumerate(lines) if re.search(wanted, line)]
    if numbers:
        number = chosen.choice(numbers)
        lines[number] = change(lines[number])
    return "\n".join(lines)


KEY = r"^\s*(- )?[\w-]+:( |$)"


def _delete_line(text: str, chosen: random.Random) -> str:
    lines = text.split("\n")
    del lines[chosen.randrange(len(lines))]
    return "\n".join(lines)


def _double_line(text: str, chosen: random.Random) -> str:
    return _line(text, chosen, lambda line: f"{line}\n{line}", KEY)


def _indent(text: str, chosen: random.Random) -> str:
    change = chosen.choice(
        (
            lambda s: f" {s}",
            lambda s: f"  {s}",
            lambda s: s.removeprefix(" "),
            lambda s: s.removeprefix("  "),
            lambda s: f"\t{s}",
        )
    )
    return _line(text, chosen, change)


def _scalar(text: str, chosen: random.Random) -> str:
    value = chosen.choice(SCALARS)
    return _line(text, chosen, lambda line: f"{line[: line.index(':') + 1]} {value}", KEY)


def _quote(text: str, chosen: random.Random) -> str:
    mark = chosen.choice("'\"")
    return _line(text, chosen, lambda line: re.sub(r": (.+)$", lambda m: f": {mark}{m[1]}{mark}", line), r": \S")


def _quote_key(text: str, chosen: random.Random) -> str:
    mark = chosen.choice("'\"")
    return _line(text, chosen, lambda line: re.sub(r"^(\s*(?:- )?)([\w-]+):", rf"\1{mark}\2{mark}:", line), KEY)


def _insert_template(text: str, chosen: random.Random) -> str:
    piece = chosen.choice(TEMPLATES)
    return _line(
        text,
        chosen,
        lambda line: chosen.choice(
            (f"{line}{piece}", f"{line} {piece}", re.sub(r": .*$", lambda _: f": {piece}", line), f"{line}\n{piece}")
        ),
    )


def _insert_token(text: str, chosen: random.Random) -> str:
    names = re.findall(r"name: *([\w-]+)", text) or ["a"]
    piece = chosen.choice(TOKENS).replace("NAME", chosen.choice(names))
    return _line(text, chosen, lambda line: f"{line}{piece}" if chosen.random() < 0.5 else f"{line} {piece}")


def _section(text: str, chosen: random.Random) -> str:
    piece = chosen.choice(SECTIONS)
    return f"{piece}{text}" if chosen.random() < 0.5 else f"{text.rstrip()}\n{piece}"


def _variable(text: str, chosen: random.Random) -> str:
    """Another default value."""
    at = text.find("default-values:")
    value = chosen.choice(SCALARS)
    if at < 0:
        name = chosen.choice(("n", "my-var", "loop", "self", "true", "None", "x y"))
        return _line(
            text, chosen, lambda line: re.sub(r": .*$", lambda _: f": {{{{ {name} }}}}", line), r": \S"
        ).rstrip() + (f"\n\ndefault-values:\n  {name}: {value}\n")
    return text[:at] + _line(text[at:], chosen, lambda line: f"{line[: line.index(':') + 1]} {value}", r"^ +[\w-]+:")


def _whole(text: str, chosen: random.Random) -> str:
    """Another form of the whole file."""
    form = chosen.randrange(9)
    if form == 0:
        return text.replace("\n", "\r\n")
    if form == 1:
        return "".join(f"  {line}\n" for line in text.split("\n"))
    if form == 2:
        return text.rstrip("\n")
    if form == 3:
        return text.replace(
            "workflow:",
            chosen.choice(
                ("'workflow':", '"workflow":', "? workflow\n:", "workflow :", "Workflow:", "!!str workflow:")
            ),
            1,
        )
    if form == 4:
        return text[: chosen.randrange(len(text) + 1)]
    if form == 5:
        end = chosen.choice(("...", "---", "--- {}", "# end", "---\nworkflow: {}"))
        return f"{text.rstrip()}\n{end}\n"
    if form == 6:
        at = chosen.randrange(len(text) + 1)
        return (
            text[:at]
            + chosen.choice(
                (
                    "\x00",
                    "\x07",
                    "\u2028",
                    "\u0085",
                    "\t",
                    "\ufeff",
                    "\\",
                    "é",
                    ":",
                    "#",
                    "-",
                    '"',
                    "'",
                    "{",
                    "}",
                    "[",
                    "*",
                    "&",
                    "!",
                )
            )
            + text[at:]
        )
    if form == 7:
        return text.replace("tasks:", "tasks: &anchor", 1).rstrip() + "\n# *anchor\n"
    return text.replace("  name:", "  <<: {lead: true}\n  name:", 1)


EDITS: tuple[Edit, ...] = (
    *(_delete_line, _double_line, _indent, _scalar, _scalar, _scalar, _quote, _quote, _quote_key, _insert_template),
    *(
        _insert_template,
        _insert_token,
        _insert_token,
        _insert_token,
        _insert_token,
        _section,
        _variable,
        _variable,
        _whole,
    ),
)
