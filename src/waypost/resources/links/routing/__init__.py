"""The verbs and endpoints of a link's routing, which lock the link. Its table and JSON are in `resources.routing`."""
