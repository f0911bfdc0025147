"""Uploaded images of links: stored, re-encoded, served."""
