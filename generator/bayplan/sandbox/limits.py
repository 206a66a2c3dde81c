"""What a child may take, counted from when it is ready: processor time, memory, and no core file."""

from __future__ import annotations

import sys
from contextlib import suppress

SECONDS = 0.5
"""Processor time of one request."""

MEMORY = 100 * 2**20
"""Bytes above what the child has when it is ready (Linux only: elsewhere nothing limits address space)."""

_STATM = "/proc/self/statm"

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
        _limit_memory()


def _limit_memory() -> None:
    """Linux counts address space; macOS accepts such a limit and ignores it."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    most = _taken() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _taken() -> int:
    """Bytes that the process has: of address space, or where /proc is missing of what it ever held of memory.

    The latter is less, so that some libraries' address space counts against a template; OSMO counts so.
    """
    import resource

    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def start_clock() -> None:
    """(Again) as much time as a request has. A caller that blocks the signal hands that down to its children."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF,))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
