"""What the Pod Security Standards refuse in a pod (Kubernetes 1.34, pod-security-admission).

The checks take a pod as data of any shape. `baseline` refuses what breaks out of a pod; `restricted` also requires
fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.kube.objects import get

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"

BASELINE_ADDS = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
RESTRICTED_ADDS = frozenset({"NET_BIND_SERVICE"})
RESTRICTED_VOLUMES = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
)
SELINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"))
SYSCTLS = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start"),
        *("net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports"),
        *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
        *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    )
)
LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC")

Path = tuple[str | int, ...]


class Breach(NamedTuple):
    """A refused field, and its place in the pod's spec. `lacking`: a field that is required and missing."""

    path: Path
    what: str
    lacking: bool = False


def breaches(spec: Mapping[str, Any], level: str) -> Iterator[Breach]:
    """What a level refuses in a pod's spec."""
    if level in (BASELINE, RESTRICTED):
        yield from _baseline(spec, BASELINE_ADDS if level == BASELINE else RESTRICTED_ADDS)
    if level == RESTRICTED:
        yield from _restricted(spec)


def containers(spec: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every container with its path."""
    for key in LISTS:
        entries = spec.get(key)
        for number, each in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(each, Mapping):
                yield (key, number), each


def security(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """The securityContext of a pod or a container."""
    context = holder.get("securityContext")
    return context if isinstance(context, Mapping) else {}


def added(container: Mapping[str, Any]) -> tuple[str, ...]:
    """The capabilities that a container adds."""
    capabilities = security(container).get("capabilities")
    names = capabilities.get("add") if isinstance(capabilities, Mapping) else None
    return tuple(str(name) for name in names) if isinstance(names, list) else ()


def as_root(spec: Mapping[str, Any], container: Mapping[str, Any]) -> bool:
    """Whether a container may run as root. The container's fields override those of the pod."""
    other = security(container).get("runAsNonRoot", security(spec).get("runAsNonRoot"))
    return not other and security(container).get("runAsUser", security(spec).get("runAsUser")) in (None, 0)


def _baseline(spec: Mapping[str, Any], adds: frozenset[str]) -> Iterator[Breach]:
    for key in HOST_FIELDS:
        if spec.get(key):
            yield Breach((key,), f"{key}: true")
    for number, volume in enumerate(_list(spec.get("volumes"))):
        if "hostPath" in volume:
            yield Breach(("volumes", number, "hostPath"), "a hostPath volume")
    for number, sysctl in enumerate(_list(security(spec).get("sysctls"))):
        if sysctl.get("name") not in SYSCTLS:
            yield Breach(("securityContext", "sysctls", number), f"the sysctl {sysctl.get('name')}")
    for path, holder in [((), spec), *containers(spec)]:
        yield from _context((*path, "securityContext"), security(holder))
    for path, container in containers(spec):
        yield from _container(path, container, adds)


def _context(path: Path, context: Mapping[str, Any]) -> Iterator[Breach]:
    """Fields that pods and containers both have."""
    for key in ("seccompProfile", "appArmorProfile"):
        profile = context.get(key)
        if isinstance(profile, Mapping) and profile.get("type") == "Unconfined":
            yield Breach((*path, key), f"{key} Unconfined")
    selinux = context.get("seLinuxOptions")
    if isinstance(selinux, Mapping):
        unusual = selinux.get("type", "") not in SELINUX_TYPES or selinux.get("user") or selinux.get("role")
        if unusual:
            yield Breach((*path, "seLinuxOptions"), "seLinuxOptions with another user, role or type")
    windows = context.get("windowsOptions")
    if isinstance(windows, Mapping) and windows.get("hostProcess"):
        yield Breach((*path, "windowsOptions"), "a Windows host process")


def _container(path: Path, container: Mapping[str, Any], adds: frozenset[str]) -> Iterator[Breach]:
    context = security(container)
    if context.get("privileged"):
        yield Breach((*path, "securityContext", "privileged"), "privileged: true")
    for name in added(container):
        if name not in adds:
            yield Breach((*path, "securityContext", "capabilities", "add"), f"the capability {name}")
    if context.get("procMount") not in (None, "Default"):
        yield Breach((*path, "securityContext", "procMount"), "a procMount other than Default")
    for number, port in enumerate(_list(container.get("ports"))):
        if port.get("hostPort"):
            yield Breach((*path, "ports", number, "hostPort"), "a hostPort")
    lifecycle = container.get("lifecycle")
    hooks = lifecycle if isinstance(lifecycle, Mapping) else {}
    asked: list[tuple[Path, Any]] = [((key,), container.get(key)) for key in PROBES]
    asked += [(("lifecycle", key), hooks.get(key)) for key in ("postStart", "preStop")]
    for place, handler in asked:
        for kind in ("httpGet", "tcpSocket"):
            if get(handler, kind, "host"):
                yield Breach((*path, *place, kind, "host"), "a probe or hook with a host")


def _restricted(spec: Mapping[str, Any]) -> Iterator[Breach]:
    for number, volume in enumerate(_list(spec.get("volumes"))):
        kinds = set(volume) - {"name", "hostPath"}
        if kinds - RESTRICTED_VOLUMES:
            yield Breach(("volumes", number), f"a volume of the kind {min(kinds - RESTRICTED_VOLUMES)}")
    if security(spec).get("runAsUser") == 0:
        yield Breach(("securityContext", "runAsUser"), "runAsUser: 0")
    for path, container in containers(spec):
        context = security(container)
        here = (*path, "securityContext")
        if context.get("runAsUser") == 0:
            yield Breach((*here, "runAsUser"), "runAsUser: 0")
        if not context.get("runAsNonRoot", security(spec).get("runAsNonRoot")):
            yield Breach(here, "runAsNonRoot: true", lacking=True)
        if context.get("allowPrivilegeEscalation") is not False:
            yield Breach(here, "allowPrivilegeEscalation: false", lacking=True)
        if not _dropped(context):
            yield Breach(here, "capabilities: {drop: [ALL]}", lacking=True)
        profile = context.get("seccompProfile", security(spec).get("seccompProfile"))
        if not isinstance(profile, Mapping) or not profile.get("type"):
            yield Breach(here, "seccompProfile: {type: RuntimeDefault}", lacking=True)


def _dropped(context: Mapping[str, Any]) -> bool:
    capabilities = context.get("capabilities")
    names = capabilities.get("drop") if isinstance(capabilities, Mapping) else None
    return isinstance(names, list) and "ALL" in names


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [each if isinstance(each, Mapping) else {} for each in value] if isinstance(value, list) else []
