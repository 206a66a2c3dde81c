"""Arguments, selection and policy: what the command line and the files say about how to run."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "A901": "no scheduler is named",
    "A903": "no such scheduler",
    "A904": "no such component",
    "A905": "not a version",
    "A906": "a version that is too old",
    "A907": "a version that bayplan does not know",
    "A908": "no such gang",
    "A909": "a gang without its predecessors",
    "A910": "no such workflow format",
    "A911": "a document of another kind",
    "A912": "a document of no known format",
    "A913": "an assumed version",
    "A914": "no name for a namespace",
    "A920": "an option's value in the wrong form",
    "A921": "no cluster topology",
    "A922": "standard input used twice",
    "A923": "several topologies in one file",
    "A924": "no such code",
    "A925": "not a gap that can be accepted",
    "A927": "a format without variables",
    "A928": "nothing of that name",
    "A929": "a project file that cannot be understood",
    "A930": "a comparison with nothing",
    "A931": "a variable that nothing uses",
    "A932": "a pool configuration without use",
    "A933": "hints in words of the native format",
    "A934": "an import that updates nothing",
    "A935": "nothing to export",
    "A936": "a source of no known format",
    "A938": "a level, a plan or a source that cannot be meant",
}
"""Code -> what it is about."""
