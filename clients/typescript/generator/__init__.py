"""Makes the types of the TypeScript client from the OpenAPI document: `python -m clients.typescript.generator`."""
