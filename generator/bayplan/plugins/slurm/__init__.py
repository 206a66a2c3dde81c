"""Slurm: batch scripts, the schedulers slurm, slurm-bridge and sunk, topologies, and what runs."""
