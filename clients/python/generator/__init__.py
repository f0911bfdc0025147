"""Makes the types and methods of the Python client from the OpenAPI document: `python -m clients.python.generator`."""
