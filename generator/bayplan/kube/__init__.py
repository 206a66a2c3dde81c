"""Kubernetes' own shapes: pods, workload kinds, quantities. No scheduler word in it."""
