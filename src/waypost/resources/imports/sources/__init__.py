"""One module for each service that links are imported from. Its class is a `Source`."""
