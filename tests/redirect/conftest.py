from wire import fast, feed, guard, hosts, plain, plane, previews, source, table, visits

__all__ = ["fast", "feed", "guard", "hosts", "plain", "plane", "previews", "source", "table", "visits"]
