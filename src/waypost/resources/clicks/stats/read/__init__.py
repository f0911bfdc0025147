"""Reads statistics: totals, a series over time, and lists of the most clicked values."""
