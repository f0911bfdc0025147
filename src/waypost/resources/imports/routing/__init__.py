"""The routing of imported links: what the source has of it, as far as a link here can have it."""
