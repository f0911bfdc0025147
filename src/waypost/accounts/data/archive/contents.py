"""What an archive contains: each file is read in batches, in short transactions.

No snapshot stays open while a client reads slowly. Links and clicks of after the start are left out; what is changed or
deleted meanwhile may be either way. Keys, secrets and tokens are not in it, nor how its members sign in and where from.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime, timedelta

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import FORMAT, FORMAT_VERSION, Files, ndjson_file, text_file
from waypost.accounts.data.archive.zip_stream import write_zip
from waypost.context import Context
from waypost.kit.clock import EPOCH, timestamp
from waypost.resource import Resource
from waypost.resources.clicks.days import find_kept_since
from waypost.version import VERSION

README = """An export of a Waypost account. Files that end with .ndjson have one JSON object per line.

account.json           the account, its API keys (without the keys themselves) and its members
domains.ndjson         custom domains
app_links.ndjson       documents of domains that say which apps open their links
domain_options.ndjson  options of domains that differ from the defaults
domain_appearances.ndjson  names, colors and texts of the pages of domains
logos.ndjson           logos of the account and of domains, in base64
utm_templates.ndjson   campaign templates
pixels.ndjson          pixels (without their ids and tokens)
webhooks.ndjson        webhooks (without their secrets)
links.ndjson           links, newest first, as the API shows them, their options, and routing (without passwords)
links.csv              links for spreadsheets, without routing
aliases.ndjson         further addresses of links
tags.ndjson            tags and their colors
deleted_links.ndjson   what is left of deleted links
qr_styles.ndjson       styles of QR codes that differ from the default
shares.ndjson          shares of statistics (without their URLs and passwords)
imports.ndjson         imports of links that were requested in the dashboard (without tokens and files)
saved_views.ndjson     saved views of statistics
report_subscriptions.ndjson  reports of statistics by email
audit_log.ndjson       the audit log, newest first
images.tar             uploaded preview images
clicks.ndjson          every visit, oldest first, as the API shows them, and its `target`; bots and previews included
statistics.csv         totals of each day, of the account and of each link, for spreadsheets
old_statistics.ndjson  statistics of the days whose clicks were deleted by the retention period
manifest.json          version of the format; rows, bytes and SHA-256 of each file

`waypost import waypost` reads this file. All fields are described in the documentation, under "Export format".
"""


async def write_archive(
    context: Context, resources: Sequence[Resource], account: Account
) -> AsyncGenerator[bytes, None]:
    """Yield the ZIP file."""
    now = context.clock()
    async with context.db.read() as tx:
        kept_since = await find_kept_since(tx)
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "created_at": timestamp(now),
        "created_by": f"Waypost {VERSION}",
        "account": {"id": str(account.id), "email": account.email},
        "base_url": context.base_url,
        "shared_domain": context.shared_domain,
        "clicks_since": f"{EPOCH + timedelta(days=kept_since):%Y-%m-%d}" if kept_since else None,
    }
    async for chunk in write_zip(_files(context, resources, account, now), manifest):
        yield chunk


def _files(context: Context, resources: Sequence[Resource], account: Account, now: datetime) -> Files:
    """Return the files of all packages, in the order of the README."""
    files = {"README.txt": text_file(README)}
    for resource in resources:
        files |= {name: ndjson_file(read(context, account.id)) for name, read in resource.exported_rows.items()}
        if resource.export:
            files |= resource.export(context, account, now)
    return {name: files[name] for name in sorted(files, key=lambda name: README.find(f"\n{name} "))}
