"""NVIDIA Topograph: models, graphs and requests."""
