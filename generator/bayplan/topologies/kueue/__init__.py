"""Kueue's objects, written and read."""
