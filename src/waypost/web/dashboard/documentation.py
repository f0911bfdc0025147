"""Which page of the documentation explains a page of the dashboard."""

import re

PAGES = (
    (r"/links/[^/]+/qrcode", "guides/qr-codes/"),
    (r"/qrcodes", "guides/qr-codes/#many-codes"),
    (r"/links/imports?(/|$)", "guides/import/"),
    (r"/links/[^/]+/addresses", "guides/aliases/"),
    (r"/links/[^/]+/routing", "guides/dashboard/#routing-of-a-link"),
    (r"/links/bulk", "guides/dashboard/#change-many-links"),
    (r"/links/(new|[^/]+/edit)$", "guides/dashboard/#the-form-of-a-link"),
    (r"/links$", "guides/how-to/"),
    (r"/domains/[^/]+/app-links", "guides/app-links/"),
    (r"/domains", "guides/domains/#dns-records"),
    (r"/tags", "guides/tags/"),
    (r"/pixels", "guides/pixels/#platform-ids-and-tokens"),
    (r"/shares", "guides/share-statistics/"),
    (r"/webhooks", "guides/webhooks/"),
    (r"/integrations/api", "reference/api/"),
    (r"/integrations", "guides/integrations/"),
    (r"/plan", "guides/plans/"),
    (r"/account/audit", "guides/audit-log/"),
    (r"/account/(two-factor|sign-in-rules|required)", "guides/two-factor/"),
    (r"/account/(members|settings|accounts|delete-person)", "guides/team/"),
    (r"/account/data", "guides/privacy/"),
    (r"/account", "guides/dashboard/#sign-in"),
    (r"/stats/views", "guides/explore-statistics/#saved-views"),
    (r"/stats/reports", "guides/weekly-report/"),
    (r"/stats", "guides/statistics/"),
    (r"/", "guides/dashboard/"),
)
"""Patterns of paths of the dashboard, with paths of the documentation. The first that matches is used."""


def page_about(path: str) -> str:
    """Return the path in the documentation that explains the page `path` of the dashboard."""
    return next(page for pattern, page in PAGES if re.match(pattern, path))
