"""`waypost account sign-in-link` and `account invite`: links that let people in, for operators to hand out.

Imports late, so that --help answers at once.
"""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from waypost.commands.running import DONE, say, with_settings

if TYPE_CHECKING:
    from waypost.settings import Settings

AsJson = Annotated[bool, Parameter(name="--json", negative="")]


def sign_in_link(email: str, /, *, json: AsJson = False) -> int:
    """Print a link that signs its bearer in, once, within 15 minutes."""

    async def run(settings: "Settings") -> int:
        from waypost import wiring  # noqa: PLC0415  # see above
        from waypost.auth import sign_in  # noqa: PLC0415
        from waypost.commands import opening, printing  # noqa: PLC0415
        from waypost.kit import clock  # noqa: PLC0415

        async with opening.database(settings) as db:
            owner = await opening.account(db, email)
            link = await sign_in.create_sign_in_link(wiring.auth_deps(settings, db, clock.now), owner.id)
        printing.show({"email": owner.email, "url": link}, as_json=json)
        return DONE

    return with_settings(run)


def invite(email: str, /, *, json: AsJson = False) -> int:
    """Invite somebody to make an account: a link for 7 days, printed and, where mail is set up, sent."""

    async def run(settings: "Settings") -> int:
        from waypost import wiring  # noqa: PLC0415  # see above
        from waypost.auth import signup  # noqa: PLC0415
        from waypost.commands import opening, printing  # noqa: PLC0415
        from waypost.kit import clock  # noqa: PLC0415

        async with opening.database(settings) as db:
            deps = wiring.auth_deps(settings, db, clock.now)
            invitation = await signup.invite(deps, email)
        printing.show({"email": email.strip().lower(), "url": invitation.url}, as_json=json)
        if invitation.is_sent:
            say("The link was also sent by email.")
        elif deps.sends_mail:
            say("The link was not sent: this address has received as many mails as one may. Pass it on yourself.")
        else:
            say("No mail is sent: there is no WAYPOST_SMTP_URL.")
        return DONE

    return with_settings(run)
