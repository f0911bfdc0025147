"""The HTTP server of every process: its limits of clients and of all connections. Knows no routes and no database."""
