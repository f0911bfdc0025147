"""All pages of the account."""

from starlette.routing import Route

from waypost.accounts.deps import Deps
from waypost.accounts.keys.pages import KeyPages
from waypost.accounts.members.invitation_pages import InvitationPages
from waypost.accounts.members.membership_pages import MembershipPages
from waypost.accounts.members.pages import MemberPages
from waypost.accounts.people.email_link_pages import EmailLinkPages
from waypost.accounts.people.profile_pages import ProfilePages
from waypost.accounts.second_factor.pages import SecondFactorPages
from waypost.accounts.setup.pages import SetupPages
from waypost.accounts.sign_in.pages import AuthPages
from waypost.accounts.sign_in.reauthentication import ReauthenticationPages
from waypost.web.dashboard import Pages, SessionAuth, Views


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages: list[type[Pages[Deps]]] = [AuthPages, SetupPages, EmailLinkPages, ProfilePages, ReauthenticationPages]
    pages += [MembershipPages, KeyPages, SecondFactorPages, InvitationPages, MemberPages]
    if deps.oidc:
        from waypost.accounts.oidc.pages import OidcPages  # noqa: PLC0415  # only where it is configured

        pages.append(OidcPages)
    return [route for page in pages for route in page(deps, auth, views).endpoints()]
