"""Background work: jobs that survive crashes, loops over queues, and the parent of all processes of a machine.

This file imports nothing: `parent` stays in memory beside every other process and must remain small.
"""
