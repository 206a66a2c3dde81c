"""The immutable values that travel between the stages. Nothing here imports anything above it."""
