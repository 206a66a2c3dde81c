"""Secondary networks, one module per kind: what a pod needs to reach the network. None is written yet."""
