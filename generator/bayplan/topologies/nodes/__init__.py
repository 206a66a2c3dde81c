"""Kubernetes nodes: what `kubectl get nodes` prints, in any form."""
