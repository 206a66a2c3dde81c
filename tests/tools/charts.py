"""What charts of several tests hold."""

from __future__ import annotations

FOUR_PODS = """\
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: example.com/train, resources: {limits: {nvidia.com/gpu: 4}}}
"""
"""The spec of a Job that a post-renderer can place in one rack."""
