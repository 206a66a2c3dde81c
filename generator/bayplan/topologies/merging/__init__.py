"""Several sources of one cluster, made one topology."""
