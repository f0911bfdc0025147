"""HTTP as every process serves it: the server, its limits, client addresses, statuses, internal paths. No database."""
