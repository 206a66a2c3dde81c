"""What every room stands on: values, diagnostics, phrases of messages, and the files that travel with the package."""
