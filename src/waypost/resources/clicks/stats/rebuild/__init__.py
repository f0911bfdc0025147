"""Rebuilds statistics from click rows, independently of the code that aggregates new clicks."""
