"""PyYAML imported through us works as ever for others in the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOAD = """
import re
kept = re.compile
import bayplan.text.yaml
import yaml
assert re.compile is kept
"""

UNPRINTABLE = """
try:
    yaml.load("\\x01", yaml.SafeLoader)
except yaml.reader.ReaderError:
    pass
else:
    raise SystemExit(1)
"""

USES = {
    "pure loader": "assert yaml.load('a: [1, 2020-01-01, 1.5, yes]', yaml.SafeLoader)['a'][0] == 1",
    "timestamps": "assert str(yaml.safe_load('2020-01-01')) == '2020-01-01'",
    "unprintable": UNPRINTABLE,
    "dumper": "assert yaml.safe_dump({'a': '1', 'b': None}) == \"a: '1'\\nb: null\\n\"",
    "c loader": "assert yaml.load('a: 12:30', yaml.CSafeLoader) == {'a': 750}",
    "resolver": "assert yaml.safe_load('[0x1F, 1e3, .inf, ~, on]')[0] == 31",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_others_find_pyyaml_whole(use: str) -> None:
    code = f"{LOAD}\n{use}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
