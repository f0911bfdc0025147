"""People: name, email, one-time tokens, and what is recorded of their own sign-in."""
