"""The passes of the pipeline: functions from values to values, by stage. Each says when it applies."""
