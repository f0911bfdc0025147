"""Pages of figures: one link's, and an account's overview. Thin: the figures come from `stats`, as those of the API."""
