"""`bayplan kustomize doctor`: why kustomize would not run bayplan's functions, and what they would leave broken.

The files say most of it; where kustomize is installed, the folder is built with it, and what comes out is looked at.
"""

from __future__ import annotations

from bayplan.cli.finish import finish
from bayplan.cli.kustomize_doctor import built, listed, tree
from bayplan.cli.options import Given
from bayplan.diagnostics import error
from bayplan.report.batch import Batch


def run(given: Given) -> int:
    """Reports on one folder with a kustomization."""
    folder = given.words[0] if given.words else "."
    found = tree.walk(folder)
    if not found:
        message = f'there is no kustomization.yaml in "{folder}" that can be read'
        return finish(
            given, [Batch((error("O834", (), message, hint="name the folder that you build"),))], to_stdout=True
        )
    sources = {subject: document for each in found for subject, document in tree.documents(each)}
    said = [*listed.check(found)]
    known = {each.code for each in said}
    said += [each for each in built.check(folder, found) if each.code != "A967" or each.code not in known]
    return finish(given, [Batch(tuple(dict.fromkeys(said)), sources)], to_stdout=True)
