"""Answers of clouds: where each instance hangs in the network."""
