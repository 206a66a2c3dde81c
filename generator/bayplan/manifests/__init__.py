"""Lowered plans and marks -> manifests: assemble them, inject marks into existing workloads, order and compare them."""
