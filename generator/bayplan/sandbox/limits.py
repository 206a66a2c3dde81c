"""What a child may take, counted from when it is ready: processor time, memory, and no core file."""

from __future__ import annotations

import sys
from contextlib import suppress

SECONDS = 0.5
"""Processor time of one request."""

MEMORY = 100 * 2**20
"""Bytes above what the child has when it is ready (Linux only: elsewhere nothing limits address space)."""

_STATM = "/proc/self/statm"

UNKNOWN = 256 * 2**20
"""Bytes that Python with Jinja surely has room in, where nobody can tell what they take."""

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
    """Bytes of address space that the process has. Where /proc is missing nothing says so: the largest memory that
    `getrusage` knows of may be that of the caller, which a child inherits."""
    import resource

    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return UNKNOWN


def start_clock() -> None:
    """(Again) as much time as a request has. A caller that blocks the signal hands that down to its children."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF,))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
