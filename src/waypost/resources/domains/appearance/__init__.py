"""What the pages that visitors of a domain see have of their own: a name, a color, texts."""
