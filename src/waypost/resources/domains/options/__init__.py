"""Options of a domain: defaults of the links on it."""
