"""Start etcd and kube-apiserver on loopback in a folder of their own, and stop them again."""

from __future__ import annotations

import base64
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.apiserver import until_closed
from e2e.apiserver.binaries import APISERVER, ETCD
from e2e.apiserver.client import Client, connect

START = 120
"""Seconds until the server must be ready. On a free core it takes three."""

EC_KEY = bytes.fromhex("30310201010420"), bytes.fromhex("a00a06082a8648ce3d030107")
"""What stands before and after the 32 bytes of a P-256 private key in DER (RFC 5915, the public key left out)."""


class BrokenError(Exception):
    """A process that did not start."""


@contextmanager
def running(folder: Path, authorization: str = "AlwaysAllow") -> Iterator[Client]:
    """A ready API server whose files, certificates and data lie in `folder`, an empty one."""
    database, peers, secure = free_ports(3)
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f"{token},bayplan,bayplan,system:masters\n", encoding="utf-8")
    (folder / "accounts.key").write_text(signing_key(), encoding="utf-8")
    certificate = folder / "certificates" / "apiserver.crt"  # which the server makes before it listens
    with ExitStack() as stack:
        etcd = stack.enter_context(process(etcd_command(database, peers), folder))
        apiserver = stack.enter_context(process(apiserver_command(secure, database, authorization), folder))
        wait_for(lambda: certificate.exists() and listening(secure), (etcd, apiserver), folder)
        client = connect(secure, certificate, token)
        stack.callback(client.connection.close)
        wait_for(lambda: client.get("/readyz").taken, (etcd, apiserver), folder)
        yield client


def etcd_command(port: int, peers: int) -> list[str]:
    """A database of one member, which may lose its data when the machine stops."""
    here, there = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    clients = [f"--listen-client-urls={here}", f"--advertise-client-urls={here}", f"--listen-peer-urls={there}"]
    return [str(ETCD), "--data-dir=data", "--log-level=warn", "--unsafe-no-fsync", *clients]


def apiserver_command(port: int, database: int, authorization: str) -> list[str]:
    """Its defaults, so the usual admission and feature gates; one user who may do everything.

    The advertised address is one for documentation (RFC 5737): without it the server looks for a network.
    """
    return [
        str(APISERVER),
        f"--etcd-servers=http://127.0.0.1:{database}",
        "--bind-address=127.0.0.1",
        "--advertise-address=192.0.2.1",
        f"--secure-port={port}",
        "--cert-dir=certificates",
        "--token-auth-file=tokens.csv",
        "--anonymous-auth=false",
        f"--authorization-mode={authorization}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged",  # as kubelets of most clusters have it: fabrics of the host may ask for it
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=accounts.key",
        "--service-account-signing-key-file=accounts.key",
    ]


@contextmanager
def process(command: Sequence[str], folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that writes to `<program>.log` and is gone afterwards, even if this one is killed."""
    guarded = [sys.executable, until_closed.__file__, *command]
    with log_of(command, folder).open("wb") as log:
        started = subprocess.Popen(
            guarded,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    with started:  # closes standard input and waits
        yield started


def log_of(command: Sequence[str], folder: Path) -> Path:
    """The log file of a program."""
    return folder / f"{Path(command[0]).name}.log"


def wait_for(done: Callable[[], bool], processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Return when it is so. Raises BrokenError, with the ends of the logs, when it does not become so."""
    end = time.monotonic() + START
    while not done():
        if any(each.poll() is not None for each in processes) or time.monotonic() > end:
            logs = (path.read_text(encoding="utf-8", errors="replace")[-3000:] for path in sorted(folder.glob("*.log")))
            raise BrokenError("a program did not become ready:\n" + "\n".join(logs))
        time.sleep(0.1)


def listening(port: int) -> bool:
    """Whether somebody takes connections there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def signing_key() -> str:
    """A new P-256 private key in PEM."""
    head, tail = EC_KEY
    text = base64.encodebytes(head + secrets.token_bytes(32) + tail).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n"
