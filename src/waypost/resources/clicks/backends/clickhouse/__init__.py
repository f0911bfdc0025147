"""The click store on a ClickHouse server, for more clicks than one machine's disk holds."""
