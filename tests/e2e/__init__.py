"""What bayplan renders, replayed through the schedulers themselves. `python -m e2e --help`."""
