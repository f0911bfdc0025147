"""Tags of an account's links. Links have the names of theirs; here each name is an object with a color."""
