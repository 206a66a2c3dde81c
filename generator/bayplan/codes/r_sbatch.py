"""Reading sbatch scripts: directives, and what sbatch itself refuses."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "R150": "a directive that cannot be read",
    "R151": "a script that no shell reads",
    "R152": "a script that sbatch refuses",
    "R153": "a directive where sbatch no longer looks",
    "R154": "a directive of another batch system",
    "R155": "a comment that was likely meant as a directive",
    "R156": "a variable that no script can have",
}
"""Code -> what it is about."""
