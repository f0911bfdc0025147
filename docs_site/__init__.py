"""Builds the documentation site: `make docs`."""
