from wire import fast, feed, plain, plane, source, table, visits

__all__ = ["fast", "feed", "plain", "plane", "source", "table", "visits"]
