"""TorchX' named resources (0.7, specs/named_resources_aws.py and named_resources_generic.py): cpu, gpu, MB of memory,
EFA cards, Neuron devices. Memory of AWS' is 96 % of the machine's, as TorchX counts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INSTANCE = "node.kubernetes.io/instance-type"
EFA = "vpc.amazonaws.com/efa"
NEURON = "aws.amazon.com/neurondevice"
AWS_GIB = 983

AWS: Mapping[str, tuple[int, int, int, int, int]] = {
    "t3.medium": (2, 0, 4, 0, 0),
    "m5.2xlarge": (8, 0, 32, 0, 0),
    "p3.2xlarge": (8, 1, 61, 0, 0),
    "p3.8xlarge": (32, 4, 244, 0, 0),
    "p3.16xlarge": (64, 8, 488, 0, 0),
    "p3dn.24xlarge": (96, 8, 768, 1, 0),
    "p4d.24xlarge": (96, 8, 1152, 4, 0),
    "p4de.24xlarge": (96, 8, 1152, 4, 0),
    "p5.48xlarge": (192, 8, 2048, 32, 0),
    "g4dn.xlarge": (4, 1, 16, 0, 0),
    "g4dn.2xlarge": (8, 1, 32, 0, 0),
    "g4dn.4xlarge": (16, 1, 64, 0, 0),
    "g4dn.8xlarge": (32, 1, 128, 1, 0),
    "g4dn.12xlarge": (48, 4, 192, 1, 0),
    "g4dn.16xlarge": (64, 1, 256, 1, 0),
    "g4dn.metal": (96, 8, 384, 1, 0),
    "g5.xlarge": (4, 1, 16, 0, 0),
    "g5.2xlarge": (8, 1, 32, 0, 0),
    "g5.4xlarge": (16, 1, 64, 0, 0),
    "g5.8xlarge": (32, 1, 128, 1, 0),
    "g5.12xlarge": (48, 4, 192, 1, 0),
    "g5.16xlarge": (64, 1, 256, 1, 0),
    "g5.24xlarge": (96, 4, 384, 1, 0),
    "g5.48xlarge": (192, 8, 768, 1, 0),
    "trn1.2xlarge": (8, 0, 32, 0, 1),
    "trn1.32xlarge": (128, 0, 512, 8, 16),
}
"""Instance type -> cpu, gpu, GiB, EFA, Neuron."""

GENERIC: Mapping[str, tuple[int, int, int]] = {
    "gpu.small": (8, 1, 32768),
    "gpu.medium": (16, 2, 65536),
    "gpu.large": (32, 4, 131072),
    "gpu.xlarge": (64, 8, 262144),
    "cpu.nano": (1, 0, 512),
    "cpu.micro": (1, 0, 1024),
    "cpu.small": (1, 0, 2048),
    "cpu.medium": (2, 0, 4096),
    "cpu.large": (2, 0, 8192),
    "cpu.xlarge": (8, 0, 32768),
}
"""Name -> cpu, gpu, MB."""

NAMES = (*(f"aws_{name}" for name in AWS), *GENERIC)


def resource(name: str) -> dict[str, Any] | None:
    """The resource of a name, as a role holds it; None where TorchX has none of that name."""
    if name in GENERIC:
        cpu, gpu, memory = GENERIC[name]
        return made(cpu, gpu, memory)
    if (kind := name.removeprefix("aws_")) == name or kind not in AWS:
        return None
    cpu, gpu, memory, efa, neuron = AWS[kind]
    devices = {device: count for device, count in ((EFA, efa), (NEURON, neuron)) if count}
    return {**made(cpu, gpu, memory * AWS_GIB), "capabilities": {INSTANCE: kind}, "devices": devices}


def made(cpu: int | float, gpu: int, memory: int) -> dict[str, Any]:
    """A resource that was asked for in numbers."""
    return {"cpu": cpu, "gpu": gpu, "memMB": memory, "capabilities": {}, "devices": {}}
