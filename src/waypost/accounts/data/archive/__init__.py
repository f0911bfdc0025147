"""Writes the archive of an account's data, a ZIP file, as a stream. `imports.archive` reads it."""
