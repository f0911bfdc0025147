"""Statistics pages: the overview of an account and the page of a link."""
