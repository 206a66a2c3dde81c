"""TorchX: applications, and bayplan as a scheduler of TorchX."""
