"""Names of tables and columns that version 0.1.0 replaced by plainer ones. The rows stay where they are."""

from alembic import op

revision = "0025"
down_revision = "0024"

_TABLES: dict[str, str] = {
    "click_leaders": "top_values_cache",
    "domain_claims": "unverified_registrations",
    "left_addresses": "past_emails",
    "mail_budgets": "mail_rate_limits",
    "pixel_lots": "pixel_batches",
    "qr_looks": "qr_styles",
}
_COLUMNS: dict[str, dict[str, str]] = {
    # by the new name of the table
    "accounts": {"closed_at": "deleted_at"},
    "acme_challenges": {"answer": "key_authorization"},
    "domains": {"is_live": "is_served", "told_at": "notified_at"},
    "links": {"is_on": "is_enabled", "og_image_media": "og_image_file_name"},
    "past_emails": {"left_at": "recorded_at"},
    "top_values_cache": {"leaders": "top_values", "period": "time_range"},
    "webhook_deliveries": {"answer": "response_body"},
}
_INDEXES = {
    "ix_click_leaders_account_id": ("ix_top_values_cache_account_id", "top_values_cache", ["account_id"]),
    "ix_domain_claims_ended_at": ("ix_unverified_registrations_ended_at", "unverified_registrations", ["ended_at"]),
    "ix_left_addresses_left_at": ("ix_past_emails_recorded_at", "past_emails", ["recorded_at"]),
    "ix_mail_budgets_sent_at": ("ix_mail_rate_limits_sent_at", "mail_rate_limits", ["sent_at"]),
    "ix_pixel_lots_lease": ("ix_pixel_batches_lease", "pixel_batches", ["leased_until"]),
}
_VALUES: list[tuple[str, str, str, str]] = [
    ("jobs", "name", "links.free", "links.detach_domain"),
    ("jobs", "name", "account.close", "account.delete"),
    ("jobs", "name", "account.forgot", "auth.send_password_reset"),
    ("one_time_tokens", "purpose", "enter", "sign_in"),
    ("one_time_tokens", "purpose", "move", "change_email"),
    ("one_time_tokens", "purpose", "taken", "email_in_use"),
]
"""(table, column, old, new)"""


def upgrade() -> None:
    for before, after in _TABLES.items():
        op.rename_table(before, after)
    for table, columns in _COLUMNS.items():
        for before, after in columns.items():
            op.execute(f"ALTER TABLE {table} RENAME COLUMN {before} TO {after}")
    for before, (after, table, names) in _INDEXES.items():  # SQLite cannot rename an index
        op.drop_index(before, table_name=table)
        op.create_index(after, table, names)
    for table, column, before, after in _VALUES:
        op.execute(f"UPDATE {table} SET {column} = '{after}' WHERE {column} = '{before}'")  # noqa: S608  # constants
