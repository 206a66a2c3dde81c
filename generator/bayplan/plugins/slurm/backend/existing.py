"""Slurm runs scripts and cannot place workloads of Kubernetes."""

from __future__ import annotations

from bayplan.plugin import Existing
from bayplan.plugin import support_table as table

EXISTING = Existing(table("plugins", "slurm", "backend").existing)
