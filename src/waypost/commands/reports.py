"""`waypost report`."""

from functools import partial
from typing import Annotated, Literal

from cyclopts import App, Parameter

from waypost.commands.runner import AccountOption, Settings, check_email, say, say_if_url_is_assumed, with_settings
from waypost.kit.errors import SettingsError, WaypostError

PeriodOption = Literal["week", "month"]

report = App(name="report", help="Reports of statistics by email.")


@report.command(name="send")
@with_settings
async def send_report(
    settings: Settings,
    *,
    account: AccountOption,
    to: Annotated[str, Parameter(help="Email of the recipient.", validator=partial(check_email, "--to"))],
    period: Annotated[PeriodOption, Parameter(help="The last full week, or the last month.")] = "week",
) -> None:
    """Send a report of an account's statistics now, through the mail server of WAYPOST_SMTP_URL."""
    from waypost.accounts.rules import normalize_email
    from waypost.audit import Actor
    from waypost.commands.database import check_click_store, get_account, open_context
    from waypost.composition import mail_sender
    from waypost.outbound import Unreachable
    from waypost.resources.statistics_reports.sender import ReportSender
    from waypost.resources.statistics_reports.unsubscribing import UnsubscribeUrls
    from waypost.secret_key import with_existing_key

    if settings.mail_server is None:
        raise SettingsError("WAYPOST_SMTP_URL is not set: reports are sent through a mail server.")
    settings = with_existing_key(settings)
    if settings.secret_key is None:
        raise SettingsError("There is no secret key yet. Start the service once: waypost serve")
    async with open_context(settings) as context:
        await check_click_store(settings)
        found = await get_account(context.db, account)
        sender = ReportSender(context, mail_sender(settings), UnsubscribeUrls.from_settings(settings))
        actor = Actor.command(found.id, "waypost report send")
        try:
            days = await sender.send_now(found, normalize_email(to), period, actor)
        except Unreachable as error:
            raise WaypostError(f"The report was not sent: {error.reason.removeprefix('mail: ')}.") from None
    say(f"Report of {days} sent to {normalize_email(to)}.")
    say_if_url_is_assumed(settings)
