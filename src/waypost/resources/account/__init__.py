"""The account of a user: its pages, its API keys, its export and its deletion."""
