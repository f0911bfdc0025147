# Made from the OpenAPI document by `python -m clients.python.generator`; do not edit.
"""The version, which is that of Waypost."""

VERSION = "0.1.0"
