"""The packages that the processes know. `resource` of each has its parts."""

import importlib
import pkgutil

from waypost import accounts, resources
from waypost.accounts.resource import RESOURCE as ACCOUNTS
from waypost.resources.audit.resource import RESOURCE as AUDIT
from waypost.resources.clicks.resource import RESOURCE as CLICKS
from waypost.resources.domains.resource import RESOURCE as DOMAINS
from waypost.resources.imports.resource import RESOURCE as IMPORTS
from waypost.resources.links.resource import RESOURCE as LINKS
from waypost.resources.operator.resource import RESOURCE as OPERATOR
from waypost.resources.overview.resource import RESOURCE as OVERVIEW
from waypost.resources.pixels.resource import RESOURCE as PIXELS
from waypost.resources.plan.resource import RESOURCE as PLAN
from waypost.resources.qrcodes.resource import RESOURCE as QR_CODES
from waypost.resources.reports.resource import RESOURCE as REPORTS
from waypost.resources.saved_views.resource import RESOURCE as SAVED_VIEWS
from waypost.resources.shares.resource import RESOURCE as SHARES
from waypost.resources.statistics_reports.resource import RESOURCE as STATISTICS_REPORTS
from waypost.resources.utm_templates.resource import RESOURCE as UTM_TEMPLATES
from waypost.resources.webhooks.resource import RESOURCE as WEBHOOKS

RESOURCES = (
    ACCOUNTS,
    AUDIT,
    LINKS,
    UTM_TEMPLATES,
    DOMAINS,
    QR_CODES,
    CLICKS,
    SHARES,
    WEBHOOKS,
    PIXELS,
    PLAN,
    IMPORTS,
    REPORTS,
    STATISTICS_REPORTS,
    SAVED_VIEWS,
    OVERVIEW,
    OPERATOR,
)
"""In the order of their endpoints in the OpenAPI document."""


def load_tables() -> None:
    """Add the tables of all packages to the metadata: a process imports only those that it uses."""
    for package in (accounts, resources):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
