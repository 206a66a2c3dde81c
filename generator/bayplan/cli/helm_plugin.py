"""`bayplan helm install-plugin`: the file with which Helm 4 finds the post-renderer."""

from __future__ import annotations

import os
import sys

from bayplan import __version__
from bayplan.cli import output, output_folder
from bayplan.cli.failures import reason
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.report import Batch
from bayplan.report.findings import escape
from bayplan.text.emit import scalar

NAME = "bayplan"

_PLUGIN = """\
# Written by `bayplan helm install-plugin`.
apiVersion: v1
name: bayplan
version: {version}
type: postrenderer/v1
runtime: subprocess
runtimeConfig:
  platformCommand:
  - command: {command}
    args: [post-render]
"""


def run(args: Arguments) -> int:
    """Writes plugin.yaml into a folder of its own, and prints its path."""
    folder = Outcome(args.value("output")) if args.has("output") else _folder(args.value("helm", "helm"))
    if folder.value is None:
        return finish(args, [Batch(folder.diagnostics)])
    path = os.path.join(folder.value, NAME, "plugin.yaml")
    text = _PLUGIN.format(version=__version__, command=scalar(_command()))
    problems = _foreign(path) or output_folder.make_folder(os.path.dirname(path))
    problems = problems or output_folder.write_single(path, [text])
    return finish(args, [Batch(problems)], lambda: output.write([f"{escape(path)}\n"]))


def _folder(helm: str) -> Outcome[str]:
    """The plugin folder of this Helm. O821: Helm fails, or it is Helm 3."""
    version = _helm_output(helm, "version", "--template", "{{.Version}}")
    if version.value is None:
        return version
    if version.value.startswith("v3."):
        message = f"{helm} is Helm {version.value[1:]}, which has no post-renderer plugins"
        hint = (
            "run Helm 3 with --post-renderer bayplan --post-renderer-args post-render; name Helm 4 with --helm PROGRAM"
        )
        return Outcome(None, (error("O821", (), message, hint=hint),))
    return _helm_output(helm, "env", "HELM_PLUGINS")


def _helm_output(helm: str, *arguments: str) -> Outcome[str]:
    """The output of a Helm command."""
    import subprocess

    try:
        process = subprocess.run([helm, *arguments], capture_output=True, timeout=60, check=False)
        text = process.stdout.decode(errors="replace").strip()
        if text and not process.returncode:
            return Outcome(text)
        why = process.stderr.decode(errors="replace").strip().partition("\n")[0] or "it prints nothing"
    except subprocess.TimeoutExpired as problem:
        why = str(problem)
    except (OSError, ValueError) as problem:
        why = reason(problem)
    message = f'cannot get the plugin folder from "{helm}": {why}'
    hint = "name Helm with --helm PROGRAM, or its plugin folder with -o DIR"
    return Outcome(None, (error("O821", (), message, hint=hint),))


def _foreign(path: str) -> tuple[Diagnostic, ...]:
    """O804: another plugin has the name."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            if "post-render" in file.read():
                return ()
    except FileNotFoundError:
        return ()
    except OSError:
        pass
    message = f'"{path}" exists, and is another plugin'
    return (error("O804", (), message, hint="remove that plugin, or name another folder with -o DIR"),)


def _command() -> str:
    """`bayplan` if it is in PATH. Otherwise, the path of the running program."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    if any(os.access(os.path.join(folder, NAME), os.X_OK) for folder in folders if folder):
        return NAME
    own = os.path.abspath(sys.argv[0])
    return own if os.path.basename(own) == NAME and os.access(own, os.X_OK) else NAME
