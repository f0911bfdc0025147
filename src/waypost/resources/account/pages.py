"""All pages of the account."""

from starlette.routing import Route

from waypost.resources.account.auth_pages import AuthPages
from waypost.resources.account.code_pages import CodePages
from waypost.resources.account.deps import Deps
from waypost.resources.account.email_link_pages import EmailLinkPages
from waypost.resources.account.invitation_pages import InvitationPages
from waypost.resources.account.key_pages import KeyPages
from waypost.resources.account.member_pages import MemberPages
from waypost.resources.account.membership_pages import MembershipPages
from waypost.resources.account.profile_pages import ProfilePages
from waypost.resources.account.reauthentication import ReauthenticationPages
from waypost.resources.account.required_factor_pages import RequiredFactorPages
from waypost.resources.account.second_factor_pages import SecondFactorPages
from waypost.resources.account.setup_pages import SetupPages
from waypost.web.dashboard import Pages, SessionAuth, Views


def endpoints(deps: Deps, auth: SessionAuth, views: Views) -> list[Route]:
    pages: list[type[Pages[Deps]]] = [AuthPages, SetupPages, EmailLinkPages, ProfilePages, ReauthenticationPages]
    pages += [
        MembershipPages,
        KeyPages,
        CodePages,
        SecondFactorPages,
        RequiredFactorPages,
        InvitationPages,
        MemberPages,
    ]
    if deps.oidc:
        from waypost.resources.account.oidc_pages import OidcPages  # noqa: PLC0415  # only where it is configured

        pages.append(OidcPages)
    return [route for page in pages for route in page(deps, auth, views).endpoints()]
