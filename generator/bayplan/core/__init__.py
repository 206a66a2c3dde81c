"""The basis of all rooms: values, diagnostics, parts of messages, and data files of the package."""
