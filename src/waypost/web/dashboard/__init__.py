"""HTML code shared by all resources: sessions, forms, templates and assets. Knows no resource."""

from waypost.web.dashboard.app import new_dashboard
from waypost.web.dashboard.app_router import AppRouter
from waypost.web.dashboard.assets import Assets
from waypost.web.dashboard.edit_form import VERSION, EditForm, Names
from waypost.web.dashboard.forms import BLANK, Form
from waypost.web.dashboard.htmx import is_fragment_request
from waypost.web.dashboard.notices import redirect
from waypost.web.dashboard.page_call import PageCall
from waypost.web.dashboard.page_error import PageError
from waypost.web.dashboard.pages import ContextFunction, PageFunction, Pages, shows
from waypost.web.dashboard.session_auth import NotSignedIn, SessionAuth
from waypost.web.dashboard.views import Views
