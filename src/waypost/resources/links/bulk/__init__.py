"""Many links at once: by the API, in the dashboard, and for imports."""
