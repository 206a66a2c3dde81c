"""bayplan on a system without what only Linux has: the names that macOS lacks are hidden, and every module is used.

No test runs on a Mac. This one shows that bayplan asks for nothing that a Mac does not have.
"""

from __future__ import annotations

import pytest

from tools.run import EXAMPLES, PRETRAIN, RENDER_64, ROOT, bayplan, hooked, python

HIDE = r"""
import builtins, io, os, re, resource, select, signal, socket, sys
ONLY_LINUX = {
    os: "O_DIRECT|O_LARGEFILE|O_NOATIME|O_PATH|O_RSYNC|O_TMPFILE|memfd_create|MFD_|sched_(?!yield)|SCHED_|eventfd"
    "|copy_file_range|EFD_|getrandom|GRND_|[gs]etxattr|(list|remove)xattr|XATTR_|pidfd_|P_PIDFD|posix_fadvise|POSIX_FADV|"
    "posix_fallocate|fdatasync|pipe2|[gs]etres[ug]id|splice|SPLICE_|unshare|setns|CLONE_|preadv2|pwritev2|RWF_|timerfd",
    resource: "RLIMIT_(MSGQUEUE|NICE|RTPRIO|RTTIME|SIGPENDING|OFILE)|prlimit",
    select: "epoll|EPOLL",
    signal: "SIGRT|SIGPWR|SIGSTKFLT|SIGPOLL|SIGCLD|sigtimedwait|sigwaitinfo|pidfd",
    socket: "AF_(NETLINK|PACKET|CAN|ALG|VSOCK|TIPC|QIPCRTR|RDS)|SOCK_(CLOEXEC|NONBLOCK)",
}
for module, names in ONLY_LINUX.items():
    for name in [each for each in dir(module) if re.match(names, each)]:
        delattr(module, name)
sys.platform = "darwin"

def without_proc(function):
    def called(path, *others, **named):
        if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(("/proc", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", path)
        return function(path, *others, **named)
    return called

builtins.open = io.open = without_proc(open)
for name in ("open", "stat", "listdir", "readlink"):
    setattr(os, name, without_proc(getattr(os, name)))
"""

EVERY_MODULE = """
import importlib, pkgutil
import bayplan
for each in pkgutil.walk_packages(bayplan.__path__, "bayplan."):
    if each.name not in ("bayplan.__main__", "bayplan.plugins.torchx.scheduler", "bayplan.plugins.osmo.sandbox.child"):
        importlib.import_module(each.name)
print("imported")
"""


def test_every_module_loads() -> None:
    done = python("-c", HIDE + EVERY_MODULE)
    assert (done.returncode, done.stdout) == (0, "imported\n"), done.stderr


COMMANDS = {
    "render": RENDER_64,
    "plan": ["plan", *RENDER_64[1:4], "--format", "svg"],
    "osmo": ["check", f"{EXAMPLES}/osmo-two-racks/osmo.yaml", "-t", f"{EXAMPLES}/osmo-two-racks/topology.yaml"],
    "generate": ["generate", "--check", f"{EXAMPLES}/project"],
    "lint": ["lint", str(ROOT / "golden" / "kai" / "pretrain@0.15.yaml"), "-t", f"{PRETRAIN}/topology.yaml"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gives_the_same_answer(command: str) -> None:
    here, there = bayplan(*COMMANDS[command]), hooked(HIDE, COMMANDS[command])
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
