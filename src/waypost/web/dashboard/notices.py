"""Notices: what a form did, shown on the page that it redirects to.

The URL of that page has only the code of the notice: nobody can make a page show a text of their own.
"""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse

NOTICES: Mapping[str, str] = {
    "saved": "Changes saved.",
    "utm-template-created": "Campaign template created.",
    "utm-template-deleted": "Campaign template deleted.",
    "logo-uploaded": "Logo uploaded. Save the code to show it.",
    "logo-deleted": "Logo deleted. Codes are drawn without it.",
    "tag-created": "Tag created.",
    "tag-deleted": "Tag deleted.",
    "pixel-created": "Pixel created.",
    "pixel-tested": "Test event sent. Its result is shown within some seconds.",
    "pixel-deleted": "Pixel deleted.",
    "share-created": "Share created. Copy its URL and send it to your visitors.",
    "share-deleted": "Share deleted. Its URL does not work any more.",
    "webhook-deleted": "Webhook deleted.",
    "domain-added": "Domain added.",
    "domain-deleted": "Domain deleted.",
    "address-added": "Address added.",
    "address-deleted": "Address deleted.",
    "routing-saved": "Routing saved. It applies to the next visitor.",
    "enabled": "Link enabled.",
    "disabled": "Link disabled. Visitors see “Link not found”.",
    "link-deleted": "Link deleted.",
    "released": "The owner can enable the link again.",
    "dismissed": "Reports dismissed.",
    "suspended": "Account suspended.",
    "resumed": "Account resumed.",
    "account-created": "Account created. Create a sign-in link for its owner, or let them reset their password.",
    "plan": "Plan changed.",
    "diagnosing": "The checks run. Reload the page in a few seconds.",
    "paid": "Thank you. Stripe has received your order.",
    "refused": "Your plan is not active, so nothing was changed.",
    "key-revoked": "Key revoked.",
    "report-subscribed": "Subscribed. The list shows when the next report is sent.",
    "report-ended": "Subscription ended.",
    "view-saved": "View saved. It is in the menu of statistics, or above the list of links.",
    "view-reduced": "A link of this view was deleted. You see what is left of the view.",
    "view-deleted": "View deleted.",
    # members
    "role": "Role changed.",
    "member-removed": "Member removed.",
    "invited": "Invitation sent.",
    "all-invited": "Invitations sent.",
    "invitation-revoked": "Invitation revoked.",
    "offered": "Ownership offered. It passes when the other accepts.",
    "withdrawn": "The offer of ownership has ended.",
    "accepted": "You are an owner of this account now.",
    "left": "You left the account.",
    "account-name": "Account name changed.",
    "account-email": "Account email changed.",
    # a person and how they sign in
    "name": "Name changed.",
    "preferences": "Time zone and formats changed.",
    "email": "Email changed.",
    "mail": "Check the email and the spam folder of the new address. Open the link in the email to confirm the change. "
    "We send at most one email every 2 minutes.",
    "confirm": "Check your email and the spam folder. We send at most one email every 2 minutes.",
    "logged": "This service does not send emails. Ask the administrator for the confirmation link: the log shows where"
    " the email is stored.",
    "confirmed": "Your email address is confirmed.",
    "password": "Password changed. All other sessions were signed out.",
    "keys": "Password changed. All other sessions were signed out, and all API keys were revoked.",
    "passkey": "Passkey added.",
    "passkey-removed": "Passkey removed.",
    "two-factor": "Two-factor authentication removed.",
    "connected": "Single sign-on connected.",
    "disconnected": "Single sign-on disconnected.",
    "ended": "Session signed out.",
    "others": "Other sessions signed out.",
    "sign-in-rules": "Sign-in rules changed.",
    # on the sign-in page
    "without-passkey": "The passkey was removed, and all sessions that used it were signed out, including this one. "
    "Sign in again.",
    "without-sso": "Single sign-on was disconnected, and all sessions that used it were signed out, including this "
    "one. Sign in again.",
    "expired": "You took longer than five minutes. Sign in again.",
    "person": "Your sign-in was deleted.",
    "setup": "This service is set up. Sign in.",
    "deleted": "Your account was deleted. Its links are disabled, and its data is being deleted.",
}


def redirect(path: str, notice: str = "") -> RedirectResponse:
    """Redirect after a form. Raises KeyError for an unknown notice."""
    return RedirectResponse(with_notice(path, notice) if notice else path, 303)


def with_notice(path: str, notice: str) -> str:
    if notice not in NOTICES:
        raise KeyError(notice)
    return f"{path}{'&' if '?' in path else '?'}done={notice}"


def notice_of(request: Request) -> str:
    return NOTICES.get(request.query_params.get("done", ""), "")
