"""The dashboard's frame: pages, forms, sessions at the door, and what pages load. Knows no room."""

from waypost.web.dashboard.app import new_dashboard
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.budgets import Budgets
from waypost.web.dashboard.forms import Form, read_form
from waypost.web.dashboard.front import Front
from waypost.web.dashboard.reception import NotSignedIn, Reception
from waypost.web.dashboard.views import Views

__all__ = ["Assets", "Budgets", "Form", "Front", "NotSignedIn", "Reception", "Views", "new_dashboard", "read_form"]
