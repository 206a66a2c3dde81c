"""`bayplan schema`: the JSON Schema of a format, as it is shipped."""

from __future__ import annotations

from bayplan.cli import output
from bayplan.cli.finish import finish
from bayplan.cli.options import Given
from bayplan.core.package_data import data_text


def run(given: Given) -> int:
    """Prints the schema."""
    return finish(given, (), lambda: output.write([data_text("schemas", f"{given.words[0]}.json")]))
