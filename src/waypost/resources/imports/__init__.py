"""Imports: links, and clicks where there are rows, taken over from other services, from files and from Waypost."""
