"""Rate limits: of one machine in a file, of all nodes in PostgreSQL."""
