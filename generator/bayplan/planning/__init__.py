"""Workflow + ClusterTopology -> Plan, its shape, and whether a backend can carry it. No scheduler word in here."""
