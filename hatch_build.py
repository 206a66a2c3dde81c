"""Builds `bayplan/schemas/generated` from `schemas/*.json`: one module per format that only accepts or refuses.

Hatchling runs it for each wheel and each editable install, pytest before the tests. `python hatch_build.py` does it by
hand. Git ignores the generated modules: bayplan uses jsonschema where they are missing or out of date. A wheel also
gets the man page of the commands.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import fastjsonschema
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
TARGET = ROOT / "generator" / "bayplan" / "schemas" / "generated"
MAN_PAGE = ROOT / "build" / "bayplan.1"

HEADER = '''"""Made from schemas/{schema}.json by hatch_build.py. Do not edit."""

# mypy: ignore-errors
from typing import Any
from bayplan.schemas import Patterns, Refused, Word

CHECKSUM = {checksum}

REGEX_PATTERNS = Patterns(
{words})
'''

WORDS = (
    re.compile(r"\^\[([^]]+)\]\(\[([^]]+)\]\*\[([^]]+)\]\)\?\$"),  # ^[first]([middle]*[last])?$
    re.compile(r"\^\(\[([^]]+)\]\(\[([^]]+)\]\*\[([^]]+)\]\)\?\)\?\$"),  # the same, or nothing
    re.compile(r"\^\[([^]]+)\]\[([^]]+)\]\*\$"),  # ^[first][rest]*$
)


class Validators(BuildHookInterface[Any]):
    """Hatchling's hook: the generated modules go into the package although Git ignores them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate the modules and the man page before a wheel of any kind is built."""
        write()
        MAN_PAGE.parent.mkdir(exist_ok=True)
        MAN_PAGE.write_text(man_page(), encoding="utf-8")
        build_data["shared_data"][str(MAN_PAGE)] = "share/man/man1/bayplan.1"
        build_data["artifacts"].append(f"/{TARGET.relative_to(ROOT).as_posix()}/*.py")


def write() -> None:
    """Write every module that has changed, and remove those of schemas that are gone."""
    TARGET.mkdir(exist_ok=True)
    made = dict(modules())
    for path in TARGET.glob("*.py"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = TARGET / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def modules() -> Iterator[tuple[str, str]]:
    """File name and text of every generated module."""
    yield "__init__.py", '"""Made by hatch_build.py."""\n'
    for path in sorted((ROOT / "schemas").glob("*.json")):
        content = path.read_bytes()
        definition = json.loads(content)
        if "$schema" in definition:
            yield f"{path.stem.replace('-', '_')}.py", module(path.stem, definition, zlib.crc32(content))


def module(schema: str, definition: Any, checksum: int) -> str:
    """The text of the validator of a schema."""
    code = fastjsonschema.compile_to_code(definition, use_default=False, use_formats=False, detailed_exceptions=False)
    body = code[code.index("NoneType = type(None)") :]
    body = re.sub(r"raise JsonSchemaValueException\(.*\)", "raise Refused", body)
    body = body.replace("(JsonSchemaValueException, JsonSchemaValuesException)", "Refused")
    body = body.replace("float, Decimal", "float")
    body = body.replace("custom_formats={}, name_prefix=None", "")
    body = re.sub(r", custom_formats, \(name_prefix or \"data\"\)[^\n]*\)$", ")", body, flags=re.MULTILINE)
    body = re.sub(r"^def (\w+)\(data, \):", r"def \1(data: Any) -> Any:", body, flags=re.MULTILINE)
    assert "JsonSchema" not in body, f"fastjsonschema writes {schema} in another form than this file rewrites"
    patterns = re.findall(r"^    ('.*'): re\.compile", code, flags=re.MULTILINE)
    shown = words([ast.literal_eval(each) for each in patterns])
    return f"{HEADER.format(schema=schema, checksum=checksum, words=shown)}\n{body.rstrip()}\n"


def words(patterns: list[str]) -> str:
    """The patterns that need no regular expression, as entries of a dict."""
    found = ((pattern, match) for pattern in patterns for match in [form.fullmatch(pattern) for form in WORDS] if match)
    lines = []
    for pattern, match in found:
        first, middle, *last = (characters(each) for each in match.groups())
        parts = (first, middle, *(last or [middle]))
        assert set(first) | set(parts[2]) <= set(middle), pattern
        empty = ", empty=True" if match.re is WORDS[1] else ""
        lines.append(f"    {pattern!r}: Word({', '.join(map(repr, parts))}{empty}),\n")
    return f"    {{\n{''.join(lines)}    }}\n"


def characters(text: str) -> str:
    """What a character class holds: `-a-c` is `-abc`."""
    spans = re.findall(r"(.)-(.)|(.)", text)
    return "".join(one or "".join(map(chr, range(ord(low), ord(high) + 1))) for low, high, one in spans)


def man_page() -> str:
    """bayplan(1) from the table of commands, in the macros of man(7)."""
    sys.path.insert(0, str(ROOT / "generator"))
    from bayplan import __version__
    from bayplan.cli.commands import ABOUT, COMMANDS, EXITS

    uses = Counter(option for command in COMMANDS for option in command.options)
    common = [option for option, count in uses.items() if count > 3]
    about = ABOUT[0].lower() + ABOUT[1:-1]
    lines = [f'.TH BAYPLAN 1 "" "bayplan {__version__}"', ".SH NAME", rf"bayplan \- {roff(about)}", ".SH SYNOPSIS"]
    lines += [r"\fBbayplan\fR \fICOMMAND\fR [\fIARGUMENT\fR...] [\fIOPTION\fR...]", ".SH COMMANDS"]
    for command in COMMANDS:
        words = " ".join(("bayplan", command.name, *map(argument, command.arguments)))
        lines += [f'.SS "{roff(words)}"', roff(f"{command.summary} {command.description}")]
        for each in command.arguments:
            lines += [".PP", roff(f"{each.metavar} is one of: {', '.join(each.choices)}.")] if each.choices else []
        lines += described(option for option in command.options if option not in common)
        shared = ", ".join(option.names[-1] for option in command.options if option in common)
        lines += [".PP", roff(f"Common options: {shared}.")] if shared else []
    lines += [".SH COMMON OPTIONS", *described(common), ".SH EXIT STATUS", roff(EXITS.partition(": ")[2])]
    return "".join(f"{line}\n" for line in lines)


def argument(each: Any) -> str:
    """`[DIR]`, `WORKFLOW...`."""
    return f"{each.metavar}..." if each.most > 1 else each.metavar if each.least else f"[{each.metavar}]"


def described(options: Iterable[Any]) -> Iterator[str]:
    """A tagged paragraph for each option."""
    for option in options:
        names = ", ".join(rf"\fB{roff(name)}\fR" for name in option.names)
        choices = f" One of: {', '.join(option.choices)}." if option.choices else ""
        yield ".TP"
        yield rf"{names} \fI{roff(option.metavar)}\fR" if option.metavar else names
        yield roff(option.help + choices)


def roff(text: str) -> str:
    """The text on one line, without characters that roff interprets."""
    escaped = text.strip().replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    write()
