"""Attacks on a started service, and what its other users notice meanwhile."""
