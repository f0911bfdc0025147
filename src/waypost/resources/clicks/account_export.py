"""Exports the clicks of an account, and their statistics."""

from datetime import datetime

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, csv_file, encoded, ndjson_file
from waypost.context import Context
from waypost.resources.clicks.export import json_lines, read_batches
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.statistics_export import CSV_COLUMNS, csv_lines, read_old_statistics, read_totals
from waypost.resources.clicks.store import ExportQuery


def export(context: Context, account: Account, now: datetime) -> Files:
    store, db, query = context.click_store, context.db, ExportQuery(Subject(account.id), kind=None, end=now)
    return {
        "clicks.ndjson": encoded(read_batches(store, db, query, context.shared_domain), json_lines),
        "statistics.csv": csv_file(CSV_COLUMNS, read_totals(store, db, query), csv_lines),
        "old_statistics.ndjson": ndjson_file(read_old_statistics(store, db, query)),
    }
