"""Wire protocols of the tools that call bayplan, such as kustomize and Helm. No scheduler is named here."""

MARK = b"bayplan.dev"
"""What annotations, labels and files of bayplan have in them."""
