"""What sbatch scripts ask for, and what of it a workflow can carry."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "W600": "an option that Slurm does not have",
    "W601": "an option without its value, or with one too many",
    "W602": "a value that Slurm would refuse",
    "W603": "an option that cannot be carried",
    "W604": "an option that is lost",
    "W605": "options of no meaning outside of Slurm",
    "W606": "options that are kept for Slurm alone",
    "W607": "options that contradict each other",
    "W608": "tasks or GPUs that cannot be dealt evenly",
    "W609": "a value that takes running the script",
    "W610": "a step whose place in the script cannot be followed",
    "W611": "work for the first node alone",
    "W612": "software of Slurm's nodes",
    "W613": "commands that are left out",
    "W614": "a script that starts no tasks",
    "W615": "tasks without an image",
    "W616": "a variable that only Slurm sets",
    "W617": "several tasks on a node",
    "W618": "a rank that the batch shell replaces",
    "W619": "a level that is assumed",
    "W620": "segments that do not fit their job",
    "W621": "a number that the script draws",
    "W622": "folders of the nodes",
    "W623": "steps that share nodes or ranks",
    "W624": "an array that is too large",
    "W625": "a job that waits for others",
    "W627": "a job of another name",
    "W628": "steps that follow each other",
    "W629": "nodes that Slurm keeps together unasked",
}
"""Code -> what it is about."""
