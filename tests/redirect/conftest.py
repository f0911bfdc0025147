from wire import connections, fast, feed, hosts, plain, previews, source, state, table, visits

__all__ = ["connections", "fast", "feed", "hosts", "plain", "previews", "source", "state", "table", "visits"]
