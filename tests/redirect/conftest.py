from wire import alias_source, aliases, connections, fast, feed, hosts, plain, previews, source, state, table, visits

__all__ = [
    "alias_source",
    "aliases",
    "connections",
    "fast",
    "feed",
    "hosts",
    "plain",
    "previews",
    "source",
    "state",
    "table",
    "visits",
]
