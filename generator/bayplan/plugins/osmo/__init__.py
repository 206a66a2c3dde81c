"""OSMO: workflows, pools, and the process that renders templates."""
