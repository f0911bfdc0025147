"""Addresses of a domain that people tried and that do not exist: what was misspelled in print, or deleted too early."""
