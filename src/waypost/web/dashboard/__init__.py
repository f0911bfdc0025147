"""The dashboard's frame: pages, forms, sessions, and what pages load. Knows no resource."""

from waypost.web.dashboard.app import new_dashboard
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.budgets import Budgets
from waypost.web.dashboard.forms import Form, read_form
from waypost.web.dashboard.front import Front
from waypost.web.dashboard.session_auth import NotSignedIn, SessionAuth
from waypost.web.dashboard.views import Views

__all__ = ["Assets", "Budgets", "Form", "Front", "NotSignedIn", "SessionAuth", "Views", "new_dashboard", "read_form"]
