"""`bayplan` and `python -m bayplan`. Answers --version before anything else is loaded."""

from __future__ import annotations

import gc
import os
import sys


def krm() -> None:
    """The installed command `bayplan-krm`: `bayplan krm` under one name, for kustomize to find."""
    gc.disable()
    from bayplan.cli.run import krm as run_krm

    _leave(run_krm(sys.argv[1:]))


def script() -> None:
    """The installed command."""
    _leave(main())


def _leave(code: int) -> None:
    """Ends the process without tidying up the memory, which is a tenth of a short run."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, AttributeError):  # closed or full: what there is to say has been said
        sys.exit(code)
    os._exit(code)


def main() -> int:
    """Runs the process's own command line; the exit code."""
    gc.disable()  # a run is short and makes no garbage in cycles worth a pass: a large topology reads 2.4 times as fast
    if sys.argv[1:] == ["--version"]:
        from bayplan import __version__

        try:
            print(f"bayplan {__version__}", flush=True)
            return 0
        except OSError:
            pass  # the long way says why
    from bayplan.cli.run import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
