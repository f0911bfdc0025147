from wire import fast, feed, hosts, plain, plane, previews, source, table, visits

__all__ = ["fast", "feed", "hosts", "plain", "plane", "previews", "source", "table", "visits"]
