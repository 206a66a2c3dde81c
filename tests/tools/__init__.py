"""Helpers of the suite that run bayplan, and scripts that people run by hand."""
