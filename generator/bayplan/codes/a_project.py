"""bayplan.yaml: the project and its outputs."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "A980": "no project file",
    "A981": "a project without outputs",
    "A982": "two outputs write one file",
    "A983": "a pattern that matches nothing",
    "A984": "a listed workflow that is not there",
    "A985": "an output that contradicts itself",
    "A986": "a place where no output can be",
    "A987": "a word in braces that stands for nothing",
    "A988": "an output outside of the project",
}
"""Code -> what it is about."""
