"""Volcano's HyperNodes, written and read."""
