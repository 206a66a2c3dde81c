"""Slurm: its topology files, its node lines, and what Slinky makes of them."""
