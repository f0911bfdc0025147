"""The click store in the service's own database."""
