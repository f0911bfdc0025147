"""Routes of links: found for redirects, and invalidated by changes."""
