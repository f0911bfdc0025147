"""The archive of an account's data: a ZIP file that is written and read as a stream. docs/reference/export.md."""
