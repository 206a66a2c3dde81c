"""Reading OSMO files: sections, variables, templates, files beside them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "R121": "an unknown section",
    "R122": "a section given twice",
    "R123": "no workflow in the file",
    "R124": "a version that there is not",
    "R125": "default values that are no mapping",
    "R126": "a variable without a value",
    "R127": "a broken template",
    "R128": "a template that reaches too far",
    "R129": "a template that takes too long",
    "R130": "a template that takes too much memory",
    "R131": "a template that cannot be rendered",
    "R132": "a key given twice in an OSMO file",
    "R133": "a key that OSMO refuses",
    "R134": "a local file that cannot be read",
    "R135": "a local file that lies elsewhere",
    "R136": "a file with two contents",
    "R137": "a local file that is no text",
    "R138": "a template in what a template wrote",
    "R139": "text outside of the sections",
}
"""Code -> what it is about."""
