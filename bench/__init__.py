"""Measures the running service against something else in the same run. Refuses to judge from one round or one number.

Nothing here is imported by the service or by its tests; `make bench` runs it.
"""
