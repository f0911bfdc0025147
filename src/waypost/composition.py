"""What all processes and commands make of the settings."""

import sys
from secrets import token_hex

from waypost import mail
from waypost.context import Context
from waypost.database import Database, KeyRing
from waypost.kit.clock import Clock, now
from waypost.kit.slug_style import SlugStyle
from waypost.outbound import Blocklist, DestinationChecker, Outbound, SafeBrowsing, UrlSafety
from waypost.redirect import InvalidateRoutes
from waypost.resources.clicks.backends import new_click_store
from waypost.resources.links.images.stores import new_image_store
from waypost.resources.links.routes.changes import Routes
from waypost.secret_key import secret_text
from waypost.settings import Settings


def new_context(settings: Settings, db: Database, publish: InvalidateRoutes, clock: Clock = now) -> Context:
    """Close its `click_store` afterwards."""
    return Context(
        db=db,
        clock=clock,
        base_url=settings.base_url,
        shared_domain=settings.shared_domain,
        cname_target=settings.cname_host,
        own_hosts=settings.own_hostnames,
        reserved=settings.reserved_slugs,
        slug_style=SlugStyle(settings.slug_length, settings.slug_alphabet),
        key_ring=KeyRing.from_setting(secret_text(settings) or token_hex()),  # commands that store no secret need none
        outbound=outbound_client(settings),
        routes=Routes(publish, clock),
        click_store=new_click_store(settings),
        image_store=new_image_store(settings, db, clock),
    )


def outbound_client(settings: Settings) -> Outbound:
    return Outbound(
        allow=settings.allowed_networks,
        names=settings.allowed_names,
        dns_servers=settings.dns_servers,
        ca_file=settings.outbound_ca_file,
        proxy=settings.proxy,
    )


def new_destination_checker(settings: Settings, outbound: Outbound) -> DestinationChecker:
    key = settings.safe_browsing_key
    safety = UrlSafety(
        Blocklist(settings.blocklist) if settings.blocklist else None,
        SafeBrowsing(outbound, key.get_secret_value(), str(settings.safe_browsing_url)) if key else None,
    )
    return DestinationChecker(outbound, safety)


def mail_sender(settings: Settings) -> mail.SendMail:
    if server := settings.mail_server:
        from waypost.mail.smtp import Mailer  # noqa: PLC0415  # only with a mail server

        return Mailer(server, settings.sender, settings.outbound_ca_file, clock=now).send
    is_on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return mail.log_mail if is_on_terminal else mail.MailDirectory(settings.data_dir / "mail", clock=now).write
