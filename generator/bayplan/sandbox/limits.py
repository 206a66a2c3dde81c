"""What a child may take, counted from when it is ready: processor time, memory, and no core file."""

from __future__ import annotations

import sys
from contextlib import suppress

SECONDS = 0.5
"""Processor time of one request."""

MEMORY = 100 * 2**20
"""Bytes above what the child has when it is ready (Linux only: elsewhere nothing limits address space)."""

LARGEST = 16 * 2**20
"""Characters that a template may write."""


def impose() -> None:
    """Sets all limits. The kernel ends the process that overruns its time, whatever it is doing."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is all there is
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        _limit_memory(resource)
    start_clock()


def _limit_memory(resource: object) -> None:
    """Linux counts address space; macOS accepts such a limit and ignores it."""
    if not sys.platform.startswith("linux"):
        return
    import resource as of_linux

    with open("/proc/self/statm", "rb") as file:
        pages = int(file.read().split()[0])
    most = pages * of_linux.getpagesize() + MEMORY
    of_linux.setrlimit(of_linux.RLIMIT_AS, (most, most))


def start_clock() -> None:
    """(Again) as much time as a request has."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
