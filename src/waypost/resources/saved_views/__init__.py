"""Saved views: states of a statistics page with a name, of one member or of all members of an account."""
