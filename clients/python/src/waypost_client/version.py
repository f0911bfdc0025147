# Made from the OpenAPI document by `python -m clients.python.generator`; do not edit.
"""The version, which is that of Waypost."""

VERSION = "1.0.0"
