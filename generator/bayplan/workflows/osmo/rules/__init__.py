"""The rules of OSMO workflows that a schema cannot hold: one file a family, each function yields diagnostics.

Errors are what OSMO 6.4 refuses too, or accepts although no pod could run. Warnings and infos are what it accepts in
silence and likely was not meant, and what takes its running service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic
from bayplan.workflows.osmo.plain import plain
from bayplan.workflows.osmo.rules import (
    amounts,
    credentials,
    exit_codes,
    files,
    inputs,
    names,
    resources,
    service,
    service_data,
    timeouts,
    tokens,
    topology,
)

RULES: tuple[Callable[[Mapping[str, Any]], Iterator[Diagnostic]], ...] = (
    names.check_choice,
    names.check_names,
    names.check_made_names,
    names.check_lead,
    names.check_overwritten,
    inputs.check_sources,
    inputs.check_order,
    inputs.check_patterns,
    resources.check_references,
    resources.check_unused,
    amounts.check_units,
    amounts.check_bytes,
    amounts.check_tiny,
    amounts.check_decimal,
    amounts.check_cache,
    topology.check_repeated,
    topology.check_uniform,
    exit_codes.check_forms,
    exit_codes.check_overlaps,
    files.check_paths,
    files.check_twins,
    files.check_contents,
    files.check_mounts,
    timeouts.check_forms,
    timeouts.check_zero,
    tokens.check_names,
    tokens.check_spelling,
    tokens.check_run,
    service_data.check_inputs,
    service_data.check_previous,
    service_data.check_outputs,
    service_data.check_collected,
    service_data.check_transfer,
    service.check_queue,
    service.check_barrier,
    service.check_failures,
    service.check_reschedule,
    service.check_credentials,
    credentials.check_names,
    credentials.check_folders,
)
"""Every rule. Each takes the workflow in the types of `plain`."""


def check(data: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """All findings in data that the schema accepted. Routes are ("workflow", "workflow", "tasks", 0, ...)."""
    workflow = plain(data)["workflow"]
    for rule in RULES:
        yield from rule(workflow)
