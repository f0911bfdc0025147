// Made from the OpenAPI document by `python -m clients.typescript.generator`; do not edit.

/** The version, which is that of Waypost. */
export const VERSION = "1.0.0";
