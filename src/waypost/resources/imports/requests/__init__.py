"""Imports that people request in the dashboard. The worker runs them in turns, each a job of the queue of long jobs.

`model` and `store` have the rows, `uploads` keeps files until the import has ended, `turns` runs them.
"""
