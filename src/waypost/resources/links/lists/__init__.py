"""Lists of links: filters, search, order."""
