"""Shared statistics: a link to the statistics of an account, a link, a tag or a domain, for people without an account.

What a share shows is limited by its filters, its time range and `hide_below`, whatever its visitors choose.
"""
