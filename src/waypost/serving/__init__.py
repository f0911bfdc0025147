"""What every process that answers HTTP shares: the server, probes, metrics. Uses Starlette.

This file imports nothing, so that redirect processes and workers load only what they use.
"""
