"""The form that creates and changes a link."""
