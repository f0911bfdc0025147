"""The first page of an account: what to do first, and how its links are doing today."""
