"""The slow engine: jobs that outlive crashes, and the processes of one machine. Knows no room's jobs.

Imports nothing here: `parent` stays in memory beside every other process and must remain small.
"""
