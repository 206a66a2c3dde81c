"""`bayplan` and `python -m bayplan`. It prints --version before it loads other modules."""

from __future__ import annotations

import gc
import os
import sys

from bayplan.core.signals import leave_at_sigint


def krm() -> None:
    """The installed command `bayplan-krm`: `bayplan krm` under one name, which kustomize can run."""
    leave_at_sigint()
    gc.disable()
    from bayplan.cli.run import krm as run_krm

    _leave(run_krm(sys.argv[1:]))


GIVEN = ("TOPOLOGY", "SCHEDULER", "NAMESPACE")
"""What an application of Argo CD sets in `plugin.env`: options of render. Argo CD adds a prefix to their names."""


def argocd() -> None:
    """The installed command `bayplan-argocd`: renders the workflows of this folder, as a plugin of Argo CD.

    It needs no shell. Its arguments are more options of render.
    """
    leave_at_sigint()
    names = sorted(f"./{each}" for each in os.listdir() if each.endswith(".workflow.yaml") and each[0] != ".")
    options = [f"--{key.lower()}={value}" for key in GIVEN if (value := os.environ.get(f"ARGOCD_ENV_{key}"))]
    sys.argv[1:] = ["render", "--sandbox", *(names or ["./*.workflow.yaml"]), *options, *sys.argv[1:]]
    _leave(main())


def script() -> None:
    """The installed command. kubectl runs it as a plugin, and asks it for completions, by other names of its file."""
    leave_at_sigint()
    if os.path.basename(sys.argv[0]) == "kubectl_complete-bayplan":
        from bayplan.cli.human import for_kubectl

        _leave(for_kubectl(sys.argv[1:]))
    _leave(main())


def _leave(code: int) -> None:
    """Ends the process without freeing memory, which would take a tenth of a short run."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, AttributeError):  # closed or full: the report is written already
        sys.exit(code)
    os._exit(code)


def main() -> int:
    """Runs the command line of the process. Returns the exit code."""
    leave_at_sigint()
    gc.disable()  # a run is short and has little cyclic garbage; a large topology loads 2.4 times as fast
    if sys.argv[1:] == ["--version"]:
        from bayplan import __version__

        line = f"bayplan {__version__}\n".encode()
        try:
            written = sys.stdout.buffer.write(line)
            sys.stdout.flush()
            if written == len(line):
                return 0
        except (OSError, AttributeError):
            pass  # the full command line reports the reason
    from bayplan.cli.run import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
