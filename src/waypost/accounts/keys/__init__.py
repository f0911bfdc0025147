"""API keys: their text, their table, their pages, and the cache that finds their callers."""
