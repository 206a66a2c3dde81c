"""The stages of `bayplan.augment`."""
