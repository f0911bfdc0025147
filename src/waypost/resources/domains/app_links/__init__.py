"""App links: documents that say which apps open the links of a domain."""
