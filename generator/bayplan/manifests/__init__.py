"""Lowered plans and marks -> manifests: assembled, injected into existing workloads, ordered, compared, deleted."""
