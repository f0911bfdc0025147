"""Benchmarks of the running service, mostly as ratios to a reference in the same run. `make bench` runs them.

The service does not import this package.
"""
