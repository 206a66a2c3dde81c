"""Slurm runs scripts and cannot place workloads of Kubernetes."""

from __future__ import annotations

from bayplan.backends.table import table
from bayplan.model.existing import Existing

EXISTING = Existing(table("slurm").existing)
