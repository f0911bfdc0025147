# Made from the OpenAPI document by `python -m clients.python.generator`; do not edit.
"""The methods of `Waypost`."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from waypost_client._sender import Sender
from waypost_client._values import OMITTED, File, Omitted, path_of
from waypost_client.inputs import (
    BulkUpdateSet,
    ClickKindFilter,
    FiltersInput,
    ImageFormat,
    LabelCaption,
    LabelGridInput,
    LabelSheet,
    LinkCreate,
    LinkOptionsUpdate,
    RuleInput,
    StatsComparison,
    UtmParamsInput,
    VariantInput,
)
from waypost_client.models import (
    AccountStats,
    Alias,
    AppLinks,
    BulkCreateResponse,
    BulkDeleteResponse,
    BulkUpdateResponse,
    Click,
    CreatedWebhook,
    Delivery,
    DeliveryEventType,
    DeliveryStatus,
    Domain,
    DomainAppearance,
    DomainOptions,
    ErrorCorrection,
    EventType,
    Filters,
    FrameStyle,
    HealthStatus,
    Link,
    LinkHealth,
    LinkOptions,
    LinkStats,
    LinkStatus,
    ListedApiKey,
    Logo,
    Me,
    MissedAddress,
    ModuleStyle,
    Pixel,
    PixelPlatform,
    PixelResults,
    QrCode,
    Routing,
    Rule,
    Share,
    SlugAlphabet,
    StatsInterval,
    Tag,
    TagColor,
    UtmParams,
    UtmTemplate,
    Variant,
    Webhook,
)
from waypost_client.pages import Pages


class Account:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def get(self) -> Me:
        """Get the account.

        Return the account, its plan, and the key of the request.
        """
        return self._sender.send(lambda payload: Me.from_json(payload["data"]), "GET", "/me")


class Clicks:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def list(
        self,
        *,
        page: int | None = None,
        per_page: int | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        kind: ClickKindFilter | None = None,
        country: Sequence[str] | None = None,
        device: Sequence[str] | None = None,
        browser: Sequence[str] | None = None,
        platform: Sequence[str] | None = None,
        referrer: Sequence[str] | None = None,
        target: Sequence[str] | None = None,
        is_scan: Sequence[str] | None = None,
        link_id: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        hostname: Sequence[str] | None = None,
        utm_source: Sequence[str] | None = None,
        utm_medium: Sequence[str] | None = None,
        utm_campaign: Sequence[str] | None = None,
        utm_term: Sequence[str] | None = None,
        utm_content: Sequence[str] | None = None,
    ) -> Pages[Click]:
        """List clicks.

        Lists clicks of all links, newest first. Bots and link previews are not clicks; request them by
        `kind`.  Filters are combined with AND. The values of one filter are alternatives: repeat it, or
        separate values with commas where these cannot be part of one (`country`, `device`, `browser`,
        `platform`, `link_id`, `hostname`).

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
            from_: Start of the time range.
            to: End of the time range, exclusive.
            kind: Kind of visit; only `human` visits count as clicks.
            country: Two-letter country codes, or `unknown`; `-` before one excludes it.
            device: Types of device: desktop, mobile, tablet, other; `-` before one excludes it.
            browser: Browser families, or `unknown`; `-` before one excludes it.
            platform: Operating system families, or `unknown`; `-` before one excludes it.
            referrer: Origin and path of the referring page, a host for all its pages, or `direct`; `-` before
                one excludes it.
            target: Names of rules and variants, or `default`; `-` before one excludes it.
            is_scan: `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it.
            link_id: IDs of links; `-` before one excludes it.
            tag: Tags that links have now, `none` for links without tags; `-` before one excludes it.
            hostname: Hostnames of links; `-` before one excludes it.
            utm_source: UTM sources of links, `none` for links without one; `-` before one excludes it.
            utm_medium: UTM mediums of links, `none` for links without one; `-` before one excludes it.
            utm_campaign: UTM campaigns of links, `none` for links without one; `-` before one excludes it.
            utm_term: UTM terms of links, `none` for links without one; `-` before one excludes it.
            utm_content: UTM contents of links, `none` for links without one; `-` before one excludes it.
        """
        return self._sender.pages(
            Click.from_json,
            "/clicks",
            {
                "page": page,
                "per_page": per_page,
                "from": from_,
                "to": to,
                "kind": kind,
                "country": country,
                "device": device,
                "browser": browser,
                "platform": platform,
                "referrer": referrer,
                "target": target,
                "is_scan": is_scan,
                "link_id": link_id,
                "tag": tag,
                "hostname": hostname,
                "utm_source": utm_source,
                "utm_medium": utm_medium,
                "utm_campaign": utm_campaign,
                "utm_term": utm_term,
                "utm_content": utm_content,
            },
        )


class Domains:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(self, hostname: str, *, idempotency_key: str | None = None) -> Domain:
        """Create a domain.

        The response lists the DNS records that verify the domain: set one of them, then verify. For a name
        that another account has verified before, only the TXT record is accepted.

        Args:
            hostname: Hostname, such as go.example.com.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Domain.from_json(payload["data"]),
            "POST",
            "/domains",
            body={"hostname": hostname},
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a domain.

        Its links move to the shared domain immediately. Remove its DNS records too: while they point to
        this service, visitors see an error page.

        Args:
            id: ID of the domain.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("domains", id), if_match=if_match)

    def delete_logo(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a domain's logo.

        QR codes that show it are drawn with the logo of the account, or without one.

        Args:
            id: ID of the domain.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("domains", id, "logo"), if_match=if_match)

    def get(self, id: str) -> Domain:
        """Get a domain.

        Includes the result of the last check, the DNS records that verify the domain, and its HTTPS
        certificate.

        Args:
            id: ID of the domain.
        """
        return self._sender.send(lambda payload: Domain.from_json(payload["data"]), "GET", path_of("domains", id))

    def get_app_links(self, id: str) -> AppLinks:
        """Get a domain's app links.

        A domain without app links has Nones.

        Args:
            id: ID of the domain.
        """
        return self._sender.send(
            lambda payload: AppLinks.from_json(payload["data"]), "GET", path_of("domains", id, "app-links")
        )

    def get_appearance(self, id: str) -> DomainAppearance:
        """Get the appearance of a domain's pages.

        What the pages for visitors of the domain have of their own. A None field is as on all domains.

        Args:
            id: ID of the domain.
        """
        return self._sender.send(
            lambda payload: DomainAppearance.from_json(payload["data"]), "GET", path_of("domains", id, "appearance")
        )

    def get_logo(self, id: str) -> Logo:
        """Get a domain's logo.

        QR codes of its links show it, instead of the logo of the account.

        Args:
            id: ID of the domain.
        """
        return self._sender.send(lambda payload: Logo.from_json(payload["data"]), "GET", path_of("domains", id, "logo"))

    def get_options(self, id: str) -> DomainOptions:
        """Get a domain's options.

        A domain whose options were never changed has the defaults.

        Args:
            id: ID of the domain.
        """
        return self._sender.send(
            lambda payload: DomainOptions.from_json(payload["data"]), "GET", path_of("domains", id, "options")
        )

    def list(self, *, page: int | None = None, per_page: int | None = None) -> Pages[Domain]:
        """List domains.

        Newest first.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(Domain.from_json, "/domains", {"page": page, "per_page": per_page})

    def list_missed(self, id: str, *, page: int | None = None, per_page: int | None = None) -> Pages[MissedAddress]:
        """List missed addresses of a domain.

        What people tried in the last 30 days and no link has, most visits first. Bots are not counted, and
        nothing is known of who it was.

        Args:
            id: ID of the domain.
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(
            MissedAddress.from_json, path_of("domains", id, "missed"), {"page": page, "per_page": per_page}
        )

    def set_app_links(
        self,
        id: str,
        *,
        apple_app_site_association: dict[str, Any] | Omitted | None = OMITTED,
        assetlinks: Sequence[Any] | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> AppLinks:
        """Set a domain's app links.

        Replaces both documents; a document that is left out or None is removed. They are served below
        `/.well-known/` of the domain, as soon as it is verified. Keys that are not known are kept.

        Args:
            id: ID of the domain.
            apple_app_site_association: Document for iOS and macOS, at most 128 KiB; None if there is none.
            assetlinks: Document for Android: a list of statements, at most 128 KiB; None if there is none.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: AppLinks.from_json(payload["data"]),
            "PUT",
            path_of("domains", id, "app-links"),
            body={"apple_app_site_association": apple_app_site_association, "assetlinks": assetlinks},
            if_match=if_match,
        )

    def set_logo(self, id: str, file: File, *, if_match: str | None = None) -> Logo:
        """Upload a domain's logo.

        The image is cropped to its content. QR codes that show the logo change with it, also those at image
        URLs that were returned earlier.

        Args:
            id: ID of the domain.
            file: PNG, JPEG or WebP image of at most 2 MB.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Logo.from_json(payload["data"]),
            "PUT",
            path_of("domains", id, "logo"),
            body={"file": file},
            if_match=if_match,
        )

    def update(
        self,
        id: str,
        *,
        hostname: str | Omitted = OMITTED,
        root_url: str | Omitted | None = OMITTED,
        not_found_url: str | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> Domain:
        """Change a domain's redirects.

        Change where the domain's root and unknown slugs redirect to.

        Args:
            id: ID of the domain.
            hostname: Cannot be changed: only the current hostname is accepted.
            root_url: URL for visitors who open the domain without a slug; None for an error page.
            not_found_url: URL for visitors of unknown, expired or disabled links of the domain; None for an
                error page.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Domain.from_json(payload["data"]),
            "PATCH",
            path_of("domains", id),
            body={"hostname": hostname, "root_url": root_url, "not_found_url": not_found_url},
            if_match=if_match,
        )

    def update_appearance(
        self,
        id: str,
        *,
        name: str | Omitted | None = OMITTED,
        color: str | Omitted | None = OMITTED,
        not_found_text: str | Omitted | None = OMITTED,
        expired_text: str | Omitted | None = OMITTED,
        not_started_text: str | Omitted | None = OMITTED,
        password_text: str | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> DomainAppearance:
        """Change the appearance of a domain's pages.

        Fields that are left out stay as they are; None resets one to its default. The next visitor sees it.

        Args:
            id: ID of the domain.
            name: Name above each page, which links to the domain's root URL if it has one.
            color: Color of buttons, links and the edge of the page. Where text of it would be hard to read, it
                is made darker, or lighter on a dark background.
            not_found_text: Text for visitors of an address that no link has, or a disabled one.
            expired_text: Text for visitors of a link that has expired or reached its click limit.
            not_started_text: Text for visitors of a link before its start.
            password_text: Text above the form that asks for the password of a link.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: DomainAppearance.from_json(payload["data"]),
            "PATCH",
            path_of("domains", id, "appearance"),
            body={
                "name": name,
                "color": color,
                "not_found_text": not_found_text,
                "expired_text": expired_text,
                "not_started_text": not_started_text,
                "password_text": password_text,
            },
            if_match=if_match,
        )

    def update_options(
        self,
        id: str,
        *,
        forward_query: str | Sequence[str] | Omitted | None = OMITTED,
        forward_path: bool | Omitted | None = OMITTED,
        ignore_case: bool | Omitted | None = OMITTED,
        slug_length: int | Omitted | None = OMITTED,
        slug_alphabet: SlugAlphabet | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> DomainOptions:
        """Change a domain's options.

        Options that are left out stay as they are; None resets one to its default. The next visit follows
        it.

        Args:
            id: ID of the domain.
            forward_query: Which parameters of the visitor's query are added to the destination: "none", "all",
                or 1 to 20 names, of which an asterisk at the end matches the rest.
            forward_path: Whether what follows the link's path in the visitor's address is added to the path of
                the destination.
            ignore_case: Whether visitors reach a link of the domain by its address in other case; true by
                default.
            slug_length: Characters of slugs that are generated on the domain, 4 to 20; 7 by default.
            slug_alphabet: Characters of generated slugs: letters and digits, only small letters and digits, or
                digits. Those that look like others are left out where there are letters; `mixed` by default.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: DomainOptions.from_json(payload["data"]),
            "PATCH",
            path_of("domains", id, "options"),
            body={
                "forward_query": forward_query,
                "forward_path": forward_path,
                "ignore_case": ignore_case,
                "slug_length": slug_length,
                "slug_alphabet": slug_alphabet,
            },
            if_match=if_match,
        )

    def verify(self, id: str, *, idempotency_key: str | None = None) -> Domain:
        """Verify a domain.

        Schedule a check of the DNS records; get the domain to see the result.

        Args:
            id: ID of the domain.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Domain.from_json(payload["data"]),
            "POST",
            path_of("domains", id, "verify"),
            idempotency_key=idempotency_key,
        )


class Keys:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def list(self) -> builtins.list[ListedApiKey]:
        """List API keys.

        List all keys, newest first, also expired and revoked ones. Their text is never shown again.
        """
        return self._sender.send(
            lambda payload: [ListedApiKey.from_json(each) for each in payload["data"]], "GET", "/tokens"
        )


class Links:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def bulk_create(self, links: Sequence[LinkCreate], *, idempotency_key: str | None = None) -> BulkCreateResponse:
        """Create many links.

        Each entry succeeds or fails alone. An entry with the status `retry` did not get its turn within 30
        seconds, because checks of destinations took too long: send it again. Counts as one request.

        Args:
            links: 1 to 100 links to create, each with the fields of a link.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            BulkCreateResponse.from_json, "POST", "/links/bulk", body={"links": links}, idempotency_key=idempotency_key
        )

    def bulk_delete(self, ids: Sequence[str]) -> BulkDeleteResponse:
        """Delete many links.

        The short URLs return 404 immediately. Only this account can use the slugs again. Counts as one
        request.

        Args:
            ids: IDs of links, 1 to 100.
        """
        return self._sender.send(BulkDeleteResponse.from_json, "DELETE", "/links/bulk", body={"ids": ids})

    def bulk_update(self, ids: Sequence[str], set: BulkUpdateSet) -> BulkUpdateResponse:
        """Change many links.

        Changes up to 100 links in the same way. A value that no link could have is refused with 422 on
        `set.<field>`, and nothing changes. Counts as one request.

        Args:
            ids: IDs of links, 1 to 100.
            set: What to change in each of the links.
        """
        return self._sender.send(BulkUpdateResponse.from_json, "PATCH", "/links/bulk", body={"ids": ids, "set": set})

    def clicks(
        self,
        id: str,
        *,
        page: int | None = None,
        per_page: int | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        kind: ClickKindFilter | None = None,
        country: Sequence[str] | None = None,
        device: Sequence[str] | None = None,
        browser: Sequence[str] | None = None,
        platform: Sequence[str] | None = None,
        referrer: Sequence[str] | None = None,
        target: Sequence[str] | None = None,
        is_scan: Sequence[str] | None = None,
    ) -> Pages[Click]:
        """List a link's clicks.

        Lists clicks newest first. Filters are those of all clicks, without those that select links.

        Args:
            id: ID of the link.
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
            from_: Start of the time range.
            to: End of the time range, exclusive.
            kind: Kind of visit; only `human` visits count as clicks.
            country: Two-letter country codes, or `unknown`; `-` before one excludes it.
            device: Types of device: desktop, mobile, tablet, other; `-` before one excludes it.
            browser: Browser families, or `unknown`; `-` before one excludes it.
            platform: Operating system families, or `unknown`; `-` before one excludes it.
            referrer: Origin and path of the referring page, a host for all its pages, or `direct`; `-` before
                one excludes it.
            target: Names of rules and variants, or `default`; `-` before one excludes it.
            is_scan: `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it.
        """
        return self._sender.pages(
            Click.from_json,
            path_of("links", id, "clicks"),
            {
                "page": page,
                "per_page": per_page,
                "from": from_,
                "to": to,
                "kind": kind,
                "country": country,
                "device": device,
                "browser": browser,
                "platform": platform,
                "referrer": referrer,
                "target": target,
                "is_scan": is_scan,
            },
        )

    def create(
        self,
        *,
        destination_url: str,
        slug: str | Omitted | None = OMITTED,
        title: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        og_title: str | Omitted | None = OMITTED,
        og_description: str | Omitted | None = OMITTED,
        og_image: str | Omitted | None = OMITTED,
        utm_params: UtmParams | UtmParamsInput | Omitted = OMITTED,
        tags: Sequence[str] | Omitted | None = OMITTED,
        expires_at: datetime | str | Omitted | None = OMITTED,
        pixel_ids: Sequence[str] | Omitted | None = OMITTED,
        options: LinkOptionsUpdate | Omitted = OMITTED,
        og_image_file: File | Omitted = OMITTED,
        idempotency_key: str | None = None,
    ) -> Link:
        """Create a link.

        The destination is fetched once: it must be reachable, public and safe. Its page's title,
        description and image become the link preview unless you send your own.

        Args:
            destination_url: http:// or https:// URL that visitors are redirected to, including the UTM
                parameters.
            slug: Path of the short URL: letters, digits, hyphens and underscores. Default: generated.
            title: Title. Default: the title of the destination's page.
            hostname: Verified or unverified domain of the account. Default: the shared domain.
            og_title: Title in link previews.
            og_description: Description in link previews.
            og_image: URL of the image in link previews.
            utm_params: UTM parameters, which are added to the destination URL.
            tags: Tags.
            expires_at: Time of expiry; None for never.
            pixel_ids: IDs of the pixels that fire on the link.
            options: Options of the link; those that are left out stay as they are.
            og_image_file: Image for link previews: JPEG, PNG, WebP or GIF of at most 2 MB. It replaces
                `og_image`.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Link.from_json(payload["data"]),
            "POST",
            "/links",
            body={
                "destination_url": destination_url,
                "slug": slug,
                "title": title,
                "hostname": hostname,
                "og_title": og_title,
                "og_description": og_description,
                "og_image": og_image,
                "utm_params": utm_params,
                "tags": tags,
                "expires_at": expires_at,
                "pixel_ids": pixel_ids,
                "options": options,
                "og_image_file": og_image_file,
            },
            idempotency_key=idempotency_key,
        )

    def create_alias(self, id: str, hostname: str, path: str, *, idempotency_key: str | None = None) -> Alias:
        """Add an alias.

        The link also redirects from this path of one of your domains. A link's own slug wins over an alias
        with the same path.

        Args:
            id: ID of the link.
            hostname: A custom domain of the account.
            path: Path without a leading slash, not percent-encoded; upper and lower case differ.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Alias.from_json(payload["data"]),
            "POST",
            path_of("links", id, "aliases"),
            body={"hostname": hostname, "path": path},
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a link.

        The short URL returns 404 immediately. Only this account can use the slug again.

        Args:
            id: ID of the link.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("links", id), if_match=if_match)

    def delete_alias(self, id: str, alias_id: str) -> None:
        """Delete an alias.

        The path returns 404 immediately, and can be used for another link.

        Args:
            id: ID of the link.
            alias_id: ID of the alias.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("links", id, "aliases", alias_id))

    def delete_routing(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a link's routing.

        All visitors are sent to the link's own destination, immediately and without a password.

        Args:
            id: ID of the link.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("links", id, "routing"), if_match=if_match)

    def get(self, id: str) -> Link:
        """Get a link.

        By its ID: a slug is not found here. To find a link by its slug, search the list.

        Args:
            id: ID of the link.
        """
        return self._sender.send(lambda payload: Link.from_json(payload["data"]), "GET", path_of("links", id))

    def get_health(self, id: str) -> LinkHealth:
        """Get a link's health.

        What the regular visits of the link's destinations found. A broken destination disables nothing.

        Args:
            id: ID of the link.
        """
        return self._sender.send(
            lambda payload: LinkHealth.from_json(payload["data"]), "GET", path_of("links", id, "health")
        )

    def get_options(self, id: str) -> LinkOptions:
        """Get a link's options.

        Null means that the link follows its domain, or has no note or external ID.

        Args:
            id: ID of the link.
        """
        return self._sender.send(
            lambda payload: LinkOptions.from_json(payload["data"]), "GET", path_of("links", id, "options")
        )

    def get_routing(self, id: str) -> Routing:
        """Get a link's routing.

        A link without routing has empty lists and Nones.

        Args:
            id: ID of the link.
        """
        return self._sender.send(
            lambda payload: Routing.from_json(payload["data"]), "GET", path_of("links", id, "routing")
        )

    def list(
        self,
        *,
        page: int | None = None,
        per_page: int | None = None,
        search: str | None = None,
        external_id: str | None = None,
        tag: str | None = None,
        hostname: str | None = None,
        status: LinkStatus | None = None,
        health: HealthStatus | None = None,
        unused_since: datetime | str | None = None,
        expired_before: datetime | str | None = None,
    ) -> Pages[Link]:
        """List links.

        Newest first. Filters are combined with AND.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
            search: Text in title, slug, aliases, destination or note.
            external_id: The link with this external ID.
            tag: Links with exactly this tag.
            hostname: A domain of the account, or the shared domain.
            status: Status of the link.
            health: Status of the link's health.
            unused_since: Links from before this time that nobody has clicked since.
            expired_before: Links that expired before this time.
        """
        return self._sender.pages(
            Link.from_json,
            "/links",
            {
                "page": page,
                "per_page": per_page,
                "search": search,
                "external_id": external_id,
                "tag": tag,
                "hostname": hostname,
                "status": status,
                "health": health,
                "unused_since": unused_since,
                "expired_before": expired_before,
            },
        )

    def list_aliases(self, id: str, *, page: int | None = None, per_page: int | None = None) -> Pages[Alias]:
        """List a link's aliases.

        Newest first.

        Args:
            id: ID of the link.
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(
            Alias.from_json, path_of("links", id, "aliases"), {"page": page, "per_page": per_page}
        )

    def set_routing(
        self,
        id: str,
        *,
        rules: Sequence[Rule | RuleInput] | Omitted | None = OMITTED,
        variants: Sequence[Variant | VariantInput] | Omitted | None = OMITTED,
        password: str | Omitted | None = OMITTED,
        starts_at: datetime | str | Omitted | None = OMITTED,
        click_limit: int | Omitted | None = OMITTED,
        fallback_url: str | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> Routing:
        """Set a link's routing.

        Replaces all of it, except for a password that is not sent. The first rule whose conditions all hold
        decides where a visitor is sent; without one, the variants do, by weight, and the rest goes to the
        link's own destination. New destinations are fetched once, like that of a link.

        Args:
            id: ID of the link.
            rules: At most 20 rules; the first that matches counts.
            variants: At most 10 variants, for visitors without a matching rule. The weights add up to at most
                100.
            password: 4 to 128 characters that visitors have to enter; None removes it, and without this field
                it stays. It is never returned.
            starts_at: Time before which the link does not redirect; None for no start.
            click_limit: Number of clicks after which the link ends; None for no limit.
            fallback_url: URL for visitors before the start, after the click limit, and of an expired link; None
                for an error page.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Routing.from_json(payload["data"]),
            "PUT",
            path_of("links", id, "routing"),
            body={
                "rules": rules,
                "variants": variants,
                "password": password,
                "starts_at": starts_at,
                "click_limit": click_limit,
                "fallback_url": fallback_url,
            },
            if_match=if_match,
        )

    def stats(
        self,
        id: str,
        *,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        interval: StatsInterval | None = None,
        timezone: str | None = None,
        compare: StatsComparison | None = None,
        visitors: bool | None = None,
        country: Sequence[str] | None = None,
        device: Sequence[str] | None = None,
        browser: Sequence[str] | None = None,
        platform: Sequence[str] | None = None,
        referrer: Sequence[str] | None = None,
        target: Sequence[str] | None = None,
        is_scan: Sequence[str] | None = None,
    ) -> LinkStats:
        """Get a link's statistics.

        Clicks, visitors and scans over time, with countries, referrers, devices, browsers, platforms and
        targets.  Filters, errors and files are those of the statistics of all links; filters that select
        links are not accepted.

        Args:
            id: ID of the link.
            from_: Start of the time range.
            to: End of the time range, exclusive.
            interval: Length of one entry of the series.
            timezone: IANA name of the time zone of the series.
            compare: Adds `previous`: the period before, as many days earlier, or the same dates a year earlier.
            visitors: Adds the visitors of each entry to lists.
            country: Two-letter country codes, or `unknown`; `-` before one excludes it.
            device: Types of device: desktop, mobile, tablet, other; `-` before one excludes it.
            browser: Browser families, or `unknown`; `-` before one excludes it.
            platform: Operating system families, or `unknown`; `-` before one excludes it.
            referrer: Origin and path of the referring page, a host for all its pages, or `direct`; `-` before
                one excludes it.
            target: Names of rules and variants, or `default`; `-` before one excludes it.
            is_scan: `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it.
        """
        return self._sender.send(
            lambda payload: LinkStats.from_json(payload["data"]),
            "GET",
            path_of("links", id, "stats"),
            query={
                "from": from_,
                "to": to,
                "interval": interval,
                "timezone": timezone,
                "compare": compare,
                "visitors": visitors,
                "country": country,
                "device": device,
                "browser": browser,
                "platform": platform,
                "referrer": referrer,
                "target": target,
                "is_scan": is_scan,
            },
        )

    def update(
        self,
        id: str,
        *,
        destination_url: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        title: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        og_title: str | Omitted | None = OMITTED,
        og_description: str | Omitted | None = OMITTED,
        og_image: str | Omitted | None = OMITTED,
        utm_params: UtmParams | UtmParamsInput | Omitted | None = OMITTED,
        tags: Sequence[str] | Omitted | None = OMITTED,
        expires_at: datetime | str | Omitted | None = OMITTED,
        pixel_ids: Sequence[str] | Omitted | None = OMITTED,
        options: LinkOptionsUpdate | Omitted | None = OMITTED,
        status: LinkStatus | Omitted = OMITTED,
        og_image_file: File | Omitted = OMITTED,
        if_match: str | None = None,
    ) -> Link:
        """Change a link.

        Changes the fields that you send and keeps the others; None clears a field. Redirects change
        immediately.

        Args:
            id: ID of the link.
            destination_url: http:// or https:// URL that visitors are redirected to, including the UTM
                parameters.
            slug: Path of the short URL: letters, digits, hyphens and underscores.
            title: Title.
            hostname: Domain of the account; None for the shared domain.
            og_title: Title in link previews.
            og_description: Description in link previews.
            og_image: URL of the image in link previews.
            utm_params: UTM parameters, which are added to the destination URL.
            tags: Tags.
            expires_at: Time of expiry; None for never.
            pixel_ids: IDs of the pixels that fire on the link.
            options: Options of the link; those that are left out stay as they are.
            status: `inactive` disables the link.
            og_image_file: Image for link previews: JPEG, PNG, WebP or GIF of at most 2 MB. It replaces
                `og_image`.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Link.from_json(payload["data"]),
            "PATCH",
            path_of("links", id),
            body={
                "destination_url": destination_url,
                "slug": slug,
                "title": title,
                "hostname": hostname,
                "og_title": og_title,
                "og_description": og_description,
                "og_image": og_image,
                "utm_params": utm_params,
                "tags": tags,
                "expires_at": expires_at,
                "pixel_ids": pixel_ids,
                "options": options,
                "status": status,
                "og_image_file": og_image_file,
            },
            if_match=if_match,
        )

    def update_options(
        self,
        id: str,
        *,
        forward_query: str | Sequence[str] | Omitted | None = OMITTED,
        forward_path: bool | Omitted | None = OMITTED,
        note: str | Omitted | None = OMITTED,
        external_id: str | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> LinkOptions:
        """Change a link's options.

        Options that are left out stay as they are; None resets one. The next visit follows them.

        Args:
            id: ID of the link.
            forward_query: Which parameters of the visitor's query are added to the destination: "none", "all",
                or 1 to 20 names, of which an asterisk at the end matches the rest; None as the domain says.
            forward_path: Whether what follows the link's path in the visitor's address is added to the path of
                the destination; None as the domain says.
            note: Text for the members of the account, which searches find.
            external_id: ID of the link in another system: visible characters without blanks, unique in the
                account.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: LinkOptions.from_json(payload["data"]),
            "PATCH",
            path_of("links", id, "options"),
            body={
                "forward_query": forward_query,
                "forward_path": forward_path,
                "note": note,
                "external_id": external_id,
            },
            if_match=if_match,
        )

    def upsert(
        self,
        external_id: str,
        *,
        destination_url: str | Omitted | None = OMITTED,
        slug: str | Omitted | None = OMITTED,
        title: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        og_title: str | Omitted | None = OMITTED,
        og_description: str | Omitted | None = OMITTED,
        og_image: str | Omitted | None = OMITTED,
        utm_params: UtmParams | UtmParamsInput | Omitted | None = OMITTED,
        tags: Sequence[str] | Omitted | None = OMITTED,
        expires_at: datetime | str | Omitted | None = OMITTED,
        pixel_ids: Sequence[str] | Omitted | None = OMITTED,
        options: LinkOptionsUpdate | Omitted | None = OMITTED,
        og_image_file: File | Omitted = OMITTED,
        if_match: str | None = None,
    ) -> Link:
        """Create or change a link by its external ID.

        Creates the link with this external ID (201), or changes the fields that you send (200): those that
        are left out stay, None clears, and a link that exists needs no `destination_url`. The same
        destination is not fetched again. Of several requests at once, one creates the link.

        Args:
            external_id: External ID of the link.
            destination_url: http:// or https:// URL that visitors are redirected to, including the UTM
                parameters.
            slug: Path of the short URL: letters, digits, hyphens and underscores. Default: generated.
            title: Title. Default: the title of the destination's page.
            hostname: Verified or unverified domain of the account. Default: the shared domain.
            og_title: Title in link previews.
            og_description: Description in link previews.
            og_image: URL of the image in link previews.
            utm_params: UTM parameters, which are added to the destination URL.
            tags: Tags.
            expires_at: Time of expiry; None for never.
            pixel_ids: IDs of the pixels that fire on the link.
            options: Options of the link; those that are left out stay as they are.
            og_image_file: Image for link previews: JPEG, PNG, WebP or GIF of at most 2 MB. It replaces
                `og_image`.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Link.from_json(payload["data"]),
            "PUT",
            path_of("links", "by-external-id", external_id),
            body={
                "destination_url": destination_url,
                "slug": slug,
                "title": title,
                "hostname": hostname,
                "og_title": og_title,
                "og_description": og_description,
                "og_image": og_image,
                "utm_params": utm_params,
                "tags": tags,
                "expires_at": expires_at,
                "pixel_ids": pixel_ids,
                "options": options,
                "og_image_file": og_image_file,
            },
            if_match=if_match,
        )


class Pixels:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(
        self,
        *,
        platform: PixelPlatform,
        name: str,
        pixel_id: str,
        access_token: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
    ) -> Pixel:
        """Create a pixel.

        With an access token, events are also sent to the platform's server. Neither the pixel ID nor the
        token is ever shown again.

        Args:
            platform: Advertising platform.
            name: Name.
            pixel_id: ID of the pixel on its platform. It is never returned.
            access_token: Access token of the platform, for events sent from the server. It is never returned.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Pixel.from_json(payload["data"]),
            "POST",
            "/pixels",
            body={"platform": platform, "name": name, "pixel_id": pixel_id, "access_token": access_token},
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a pixel.

        Its links keep working without it.

        Args:
            id: ID of the pixel.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("pixels", id), if_match=if_match)

    def get(self, id: str) -> Pixel:
        """Get a pixel.

        Neither the pixel ID nor the token is returned.

        Args:
            id: ID of the pixel.
        """
        return self._sender.send(lambda payload: Pixel.from_json(payload["data"]), "GET", path_of("pixels", id))

    def list(self, *, page: int | None = None, per_page: int | None = None) -> Pages[Pixel]:
        """List pixels.

        Newest first. Neither the pixel ID nor the token is returned.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(Pixel.from_json, "/pixels", {"page": page, "per_page": per_page})

    def results(self, id: str) -> PixelResults:
        """Get the results of a pixel's events.

        How many events the platform accepted and rejected, and the reason of the last rejection.

        Args:
            id: ID of the pixel.
        """
        return self._sender.send(
            lambda payload: PixelResults.from_json(payload["data"]), "GET", path_of("pixels", id, "results")
        )

    def update(
        self,
        id: str,
        *,
        platform: PixelPlatform | Omitted = OMITTED,
        name: str | Omitted = OMITTED,
        pixel_id: str | Omitted = OMITTED,
        access_token: str | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> Pixel:
        """Change a pixel.

        Changes the fields that you send and keeps the others. The next click on each of its links uses
        them.

        Args:
            id: ID of the pixel.
            platform: Advertising platform.
            name: Name.
            pixel_id: ID of the pixel on its platform. It is never returned.
            access_token: Access token of the platform, for events sent from the server. It is never returned.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Pixel.from_json(payload["data"]),
            "PATCH",
            path_of("pixels", id),
            body={"platform": platform, "name": name, "pixel_id": pixel_id, "access_token": access_token},
            if_match=if_match,
        )


class Qrcodes:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def archive(
        self,
        *,
        ids: Sequence[str] | Omitted | None = OMITTED,
        tag: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        format: ImageFormat | Omitted | None = OMITTED,
        name: str | Omitted | None = OMITTED,
    ) -> bytes:
        """Get the images of many QR codes as a ZIP file.

        Up to 1,000 images, and `codes.csv` with file, link and title of each: of the links with these IDs,
        of all that have a tag, or of all on a domain. Links that are deleted meanwhile are left out. An
        account gets one archive or sheet at a time: a second request waits, and gets a 409 after 20
        seconds.

        Args:
            ids: IDs of links, 1 to 1,000. Send one of `ids`, `tag` and `hostname`.
            tag: All links that have the tag.
            hostname: All links on the domain.
            format: Format of the images.
            name: Names of the files without their ending: text with `{slug}`, `{title}`, `{hostname}` and
                `{id}`.
        """
        return self._sender.fetch_file(
            "POST",
            "/qrcodes/archive",
            body={"ids": ids, "tag": tag, "hostname": hostname, "format": format, "name": name},
        )

    def delete_logo(self, *, if_match: str | None = None) -> None:
        """Delete the account's logo.

        QR codes that show it are drawn without a logo.

        Args:
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", "/qrcodes/logo", if_match=if_match)

    def get(self, id: str) -> QrCode:
        """Get a link's QR code.

        Includes the signed URLs of its image, and warnings if its style may be hard to scan.

        Args:
            id: ID of the link.
        """
        return self._sender.send(
            lambda payload: QrCode.from_json(payload["data"]), "GET", path_of("links", id, "qrcode")
        )

    def get_logo(self) -> Logo:
        """Get the account's logo.

        QR codes of links show it, unless their domain has a logo of its own.
        """
        return self._sender.send(lambda payload: Logo.from_json(payload["data"]), "GET", "/qrcodes/logo")

    def image(self, url: str) -> bytes:
        """Return the image at a signed URL: `image_url`, `svg_url` or `pdf_url` of a QR code."""
        return self._sender.download(url)

    def set_logo(self, file: File, *, if_match: str | None = None) -> Logo:
        """Upload the account's logo.

        The image is cropped to its content. QR codes that show the logo change with it, also those at image
        URLs that were returned earlier.

        Args:
            file: PNG, JPEG or WebP image of at most 2 MB.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Logo.from_json(payload["data"]),
            "PUT",
            "/qrcodes/logo",
            body={"file": file},
            if_match=if_match,
        )

    def set_style(
        self,
        id: str,
        *,
        foreground: str | Omitted | None = OMITTED,
        background: str | Omitted | None = OMITTED,
        level: ErrorCorrection | Omitted = OMITTED,
        style: ModuleStyle | Omitted = OMITTED,
        size: int | Omitted | None = OMITTED,
        margin: int | Omitted | None = OMITTED,
        width_mm: int | Omitted | None = OMITTED,
        logo: bool | Omitted | None = OMITTED,
        logo_size: float | Omitted | None = OMITTED,
        frame: FrameStyle | Omitted = OMITTED,
        frame_text: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> QrCode:
        """Set the style of a link's QR code.

        An omitted or None field is reset to its default. Image URLs returned earlier keep working.

        Args:
            id: ID of the link.
            foreground: Color of the code, such as #000 or #000000.
            background: Background color, such as #fff or #ffffff.
            level: Error correction, from L (lowest) to H (highest).
            style: Shape of the modules.
            size: Width and height of the PNG image in pixels.
            margin: Empty space around the code, in modules. The standard is 4.
            width_mm: Width of the PDF in millimeters.
            logo: Whether to show the logo of the domain, or else of the account.
            logo_size: Longer side of the logo, as a fraction of the code's width.
            frame: Frame around the code: none, or with text at the bottom.
            frame_text: Text of the frame.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: QrCode.from_json(payload["data"]),
            "POST",
            path_of("links", id, "qrcode"),
            body={
                "foreground": foreground,
                "background": background,
                "level": level,
                "style": style,
                "size": size,
                "margin": margin,
                "width_mm": width_mm,
                "logo": logo,
                "logo_size": logo_size,
                "frame": frame,
                "frame_text": frame_text,
            },
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    def sheet(
        self,
        *,
        ids: Sequence[str] | Omitted | None = OMITTED,
        tag: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        labels: LabelSheet | Omitted | None = OMITTED,
        grid: LabelGridInput | Omitted | None = OMITTED,
        caption: LabelCaption | Omitted | None = OMITTED,
        start: int | Omitted | None = OMITTED,
        copies: int | Omitted | None = OMITTED,
    ) -> bytes:
        """Get labels with many QR codes as a PDF file.

        A PDF of A4 pages, for sheets of Avery or a grid of your own: up to 1,000 labels, each with the code
        and the slug or title of a link beneath it, or beside it on labels that are more than twice as wide
        as high. An ID that is sent twice gets two labels. Print it in its actual size.

        Args:
            ids: IDs of links, 1 to 1,000. Send one of `ids`, `tag` and `hostname`.
            tag: All links that have the tag.
            hostname: All links on the domain.
            labels: Sheet of Avery: 189 labels of 25.4 by 10 mm, or 21 of 63.5 by 38.1 mm.
            grid: Own grid in place of `labels`.
            caption: Text of each label, cut to fit.
            start: Label to start at, on a sheet of which some are used.
            copies: Labels of each code.
        """
        return self._sender.fetch_file(
            "POST",
            "/qrcodes/sheet",
            body={
                "ids": ids,
                "tag": tag,
                "hostname": hostname,
                "labels": labels,
                "grid": grid,
                "caption": caption,
                "start": start,
                "copies": copies,
            },
        )


class Shares:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(
        self,
        *,
        name: str,
        link_id: str | Omitted | None = OMITTED,
        tag: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        filters: Filters | FiltersInput | Omitted = OMITTED,
        from_: datetime | str | Omitted | None = OMITTED,
        to: datetime | str | Omitted | None = OMITTED,
        password: str | Omitted | None = OMITTED,
        expires_at: datetime | str | Omitted | None = OMITTED,
        hide_below: int | Omitted | None = OMITTED,
        embed_origins: Sequence[str] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
    ) -> Share:
        """Create a share.

        Shows the statistics of a link, of links with a tag or on a hostname, or of all links to everybody
        who has the URL, within the filters and the time range.

        Args:
            name: Name, which visitors see.
            link_id: ID of the link whose statistics are shown.
            tag: Tag of the links whose statistics are shown.
            hostname: Hostname of the links whose statistics are shown.
            filters: Filters as in statistics, each with a value or a list of values. Only clicks that match are
                shown.
            from_: Start of the time range that can be seen; None for no limit.
            to: End of the time range that can be seen, exclusive; None for no limit.
            password: 4 to 128 characters that visitors have to enter; None for none. It is never returned.
            expires_at: Time of expiry; None for never.
            hide_below: Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown.
                0 shows all.
            embed_origins: Origins of pages that may embed the statistics: https, or http on localhost.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Share.from_json(payload["data"]),
            "POST",
            "/shares",
            body={
                "name": name,
                "link_id": link_id,
                "tag": tag,
                "hostname": hostname,
                "filters": filters,
                "from": from_,
                "to": to,
                "password": password,
                "expires_at": expires_at,
                "hide_below": hide_below,
                "embed_origins": embed_origins,
            },
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a share.

        Its URLs stop working at once.

        Args:
            id: ID of the share.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("shares", id), if_match=if_match)

    def get(self, id: str) -> Share:
        """Get a share.

        URLs are returned to keys with the scope `links:write` only.

        Args:
            id: ID of the share.
        """
        return self._sender.send(lambda payload: Share.from_json(payload["data"]), "GET", path_of("shares", id))

    def list(self, *, page: int | None = None, per_page: int | None = None) -> Pages[Share]:
        """List shares.

        Newest first. URLs are returned to keys with the scope `links:write` only.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(Share.from_json, "/shares", {"page": page, "per_page": per_page})

    def update(
        self,
        id: str,
        *,
        name: str | Omitted = OMITTED,
        link_id: str | Omitted | None = OMITTED,
        tag: str | Omitted | None = OMITTED,
        hostname: str | Omitted | None = OMITTED,
        filters: Filters | FiltersInput | Omitted | None = OMITTED,
        from_: datetime | str | Omitted | None = OMITTED,
        to: datetime | str | Omitted | None = OMITTED,
        password: str | Omitted | None = OMITTED,
        expires_at: datetime | str | Omitted | None = OMITTED,
        hide_below: int | Omitted | None = OMITTED,
        embed_origins: Sequence[str] | Omitted | None = OMITTED,
        if_match: str | None = None,
    ) -> Share:
        """Change a share.

        Changes the fields that you send and keeps the others. A new password and other origins end the old
        `embed_url`, and visitors enter the password again.

        Args:
            id: ID of the share.
            name: Name, which visitors see.
            link_id: ID of the link whose statistics are shown.
            tag: Tag of the links whose statistics are shown.
            hostname: Hostname of the links whose statistics are shown.
            filters: Filters as in statistics, each with a value or a list of values. Only clicks that match are
                shown.
            from_: Start of the time range that can be seen; None for no limit.
            to: End of the time range that can be seen, exclusive; None for no limit.
            password: 4 to 128 characters that visitors have to enter; None for none. It is never returned.
            expires_at: Time of expiry; None for never.
            hide_below: Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown.
                0 shows all.
            embed_origins: Origins of pages that may embed the statistics: https, or http on localhost.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Share.from_json(payload["data"]),
            "PATCH",
            path_of("shares", id),
            body={
                "name": name,
                "link_id": link_id,
                "tag": tag,
                "hostname": hostname,
                "filters": filters,
                "from": from_,
                "to": to,
                "password": password,
                "expires_at": expires_at,
                "hide_below": hide_below,
                "embed_origins": embed_origins,
            },
            if_match=if_match,
        )


class Stats:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def get(
        self,
        *,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        interval: StatsInterval | None = None,
        timezone: str | None = None,
        compare: StatsComparison | None = None,
        visitors: bool | None = None,
        country: Sequence[str] | None = None,
        device: Sequence[str] | None = None,
        browser: Sequence[str] | None = None,
        platform: Sequence[str] | None = None,
        referrer: Sequence[str] | None = None,
        target: Sequence[str] | None = None,
        is_scan: Sequence[str] | None = None,
        link_id: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        hostname: Sequence[str] | None = None,
        utm_source: Sequence[str] | None = None,
        utm_medium: Sequence[str] | None = None,
        utm_campaign: Sequence[str] | None = None,
        utm_term: Sequence[str] | None = None,
        utm_content: Sequence[str] | None = None,
    ) -> AccountStats:
        """Get statistics of all links.

        Includes the most clicked links, and clicks by tag, hostname and campaign of the links.  All numbers
        follow the filters, which are those of lists of clicks. A time range with too many clicks to count,
        or with clicks that were deleted, is an error on `from` that names a later start. With the header
        `Accept: text/csv`, the answer is the series as CSV, or all values of a `list`.

        Args:
            from_: Start of the time range.
            to: End of the time range, exclusive.
            interval: Length of one entry of the series.
            timezone: IANA name of the time zone of the series.
            compare: Adds `previous`: the period before, as many days earlier, or the same dates a year earlier.
            visitors: Adds the visitors of each entry to lists.
            country: Two-letter country codes, or `unknown`; `-` before one excludes it.
            device: Types of device: desktop, mobile, tablet, other; `-` before one excludes it.
            browser: Browser families, or `unknown`; `-` before one excludes it.
            platform: Operating system families, or `unknown`; `-` before one excludes it.
            referrer: Origin and path of the referring page, a host for all its pages, or `direct`; `-` before
                one excludes it.
            target: Names of rules and variants, or `default`; `-` before one excludes it.
            is_scan: `true` for scans of QR codes, `false` for other clicks; `-` before one excludes it.
            link_id: IDs of links; `-` before one excludes it.
            tag: Tags that links have now, `none` for links without tags; `-` before one excludes it.
            hostname: Hostnames of links; `-` before one excludes it.
            utm_source: UTM sources of links, `none` for links without one; `-` before one excludes it.
            utm_medium: UTM mediums of links, `none` for links without one; `-` before one excludes it.
            utm_campaign: UTM campaigns of links, `none` for links without one; `-` before one excludes it.
            utm_term: UTM terms of links, `none` for links without one; `-` before one excludes it.
            utm_content: UTM contents of links, `none` for links without one; `-` before one excludes it.
        """
        return self._sender.send(
            lambda payload: AccountStats.from_json(payload["data"]),
            "GET",
            "/stats",
            query={
                "from": from_,
                "to": to,
                "interval": interval,
                "timezone": timezone,
                "compare": compare,
                "visitors": visitors,
                "country": country,
                "device": device,
                "browser": browser,
                "platform": platform,
                "referrer": referrer,
                "target": target,
                "is_scan": is_scan,
                "link_id": link_id,
                "tag": tag,
                "hostname": hostname,
                "utm_source": utm_source,
                "utm_medium": utm_medium,
                "utm_campaign": utm_campaign,
                "utm_term": utm_term,
                "utm_content": utm_content,
            },
        )


class Tags:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(self, *, name: str, color: TagColor | Omitted = OMITTED, idempotency_key: str | None = None) -> Tag:
        """Create a tag.

        A tag that a link names exists already: change its color instead.

        Args:
            name: Name; upper and lower case differ.
            color: Color of the tag in the dashboard.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Tag.from_json(payload["data"]),
            "POST",
            "/tags",
            body={"name": name, "color": color},
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a tag.

        Removes the tag from all links, which keep working. Many links are changed in steps after the
        answer; until the last one has lost the tag, the list has it, and another change of many links is
        refused with 409.

        Args:
            id: ID of the tag.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("tags", id), if_match=if_match)

    def get(self, id: str) -> Tag:
        """Get a tag.

        With its links and clicks.

        Args:
            id: ID of the tag.
        """
        return self._sender.send(lambda payload: Tag.from_json(payload["data"]), "GET", path_of("tags", id))

    def list(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None) -> Pages[Tag]:
        """List tags.

        In alphabetical order: tags of links, and tags that no link has yet.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
            search: Text in the name, in upper or lower case.
        """
        return self._sender.pages(Tag.from_json, "/tags", {"page": page, "per_page": per_page, "search": search})

    def update(
        self,
        id: str,
        *,
        name: str | Omitted = OMITTED,
        color: TagColor | Omitted = OMITTED,
        if_match: str | None = None,
    ) -> Tag:
        """Change a tag.

        A new name replaces the old one in all links, at its place. If another tag has the name, the two
        become one: the answer is that tag, and the `id` of the path ends. Many links are changed in steps
        after the answer; until the last one has the new name, the list has both, and another change of many
        links is refused with 409.

        Args:
            id: ID of the tag.
            name: Name; upper and lower case differ.
            color: Color of the tag in the dashboard.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: Tag.from_json(payload["data"]),
            "PATCH",
            path_of("tags", id),
            body={"name": name, "color": color},
            if_match=if_match,
        )


class Templates:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(
        self, name: str, utm_params: UtmParams | UtmParamsInput, *, idempotency_key: str | None = None
    ) -> UtmTemplate:
        """Create a campaign template.

        A template fills the UTM parameters of a link in the dashboard. Links do not change with it.

        Args:
            name: Name, unique in the account.
            utm_params: UTM parameters, at least one.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: UtmTemplate.from_json(payload["data"]),
            "POST",
            "/utm-templates",
            body={"name": name, "utm_params": utm_params},
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a campaign template.

        Links that it filled stay as they are.

        Args:
            id: ID of the campaign template.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("utm-templates", id), if_match=if_match)

    def get(self, id: str) -> UtmTemplate:
        """Get a campaign template.

        Its parameters are those with a value.

        Args:
            id: ID of the campaign template.
        """
        return self._sender.send(
            lambda payload: UtmTemplate.from_json(payload["data"]), "GET", path_of("utm-templates", id)
        )

    def list(self, *, page: int | None = None, per_page: int | None = None) -> Pages[UtmTemplate]:
        """List campaign templates.

        By name.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(UtmTemplate.from_json, "/utm-templates", {"page": page, "per_page": per_page})

    def update(
        self,
        id: str,
        *,
        name: str | Omitted = OMITTED,
        utm_params: UtmParams | UtmParamsInput | Omitted = OMITTED,
        if_match: str | None = None,
    ) -> UtmTemplate:
        """Change a campaign template.

        Changes the fields that you send and keeps the others. Links that it filled stay as they are.

        Args:
            id: ID of the campaign template.
            name: Name, unique in the account.
            utm_params: UTM parameters, at least one.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        return self._sender.send(
            lambda payload: UtmTemplate.from_json(payload["data"]),
            "PATCH",
            path_of("utm-templates", id),
            body={"name": name, "utm_params": utm_params},
            if_match=if_match,
        )


class Webhooks:
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def create(
        self, url: str, event_types: Sequence[EventType], *, idempotency_key: str | None = None
    ) -> CreatedWebhook:
        """Create a webhook.

        The response has the signing secret, which is never shown again.

        Args:
            url: https:// URL that receives the events.
            event_types: Event types that are delivered.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: CreatedWebhook.from_json(payload["data"]),
            "POST",
            "/webhooks",
            body={"url": url, "event_types": event_types},
            idempotency_key=idempotency_key,
        )

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        """Delete a webhook.

        Its pending deliveries are canceled.

        Args:
            id: ID of the webhook.
            if_match: `etag` of the object that was read: if it has changed since, a WaypostError with the
                status 412 is raised.
        """
        self._sender.send(lambda _: None, "DELETE", path_of("webhooks", id), if_match=if_match)

    def get(self, id: str) -> Webhook:
        """Get a webhook.

        Without its secret. A webhook cannot be changed: delete it and create another one.

        Args:
            id: ID of the webhook.
        """
        return self._sender.send(lambda payload: Webhook.from_json(payload["data"]), "GET", path_of("webhooks", id))

    def list(self, *, page: int | None = None, per_page: int | None = None) -> Pages[Webhook]:
        """List webhooks.

        Newest first, without their secrets.

        Args:
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
        """
        return self._sender.pages(Webhook.from_json, "/webhooks", {"page": page, "per_page": per_page})

    def list_deliveries(
        self,
        id: str,
        *,
        page: int | None = None,
        per_page: int | None = None,
        status: DeliveryStatus | None = None,
        event: DeliveryEventType | None = None,
    ) -> Pages[Delivery]:
        """List a webhook's deliveries.

        Newest first.

        Args:
            id: ID of the webhook.
            page: First page to read.
            per_page: Objects in each page; default: 100, the maximum.
            status: Status of the delivery.
            event: Type of the event.
        """
        return self._sender.pages(
            Delivery.from_json,
            path_of("webhooks", id, "deliveries"),
            {"page": page, "per_page": per_page, "status": status, "event": event},
        )

    def redeliver(self, id: str, delivery_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Redeliver an event.

        Sends it immediately with the same id and body.

        Args:
            id: ID of the webhook.
            delivery_id: ID of the delivery.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Delivery.from_json(payload["data"]),
            "POST",
            path_of("webhooks", id, "deliveries", delivery_id, "redeliver"),
            idempotency_key=idempotency_key,
        )

    def send_test(self, id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send a test event.

        Sent regardless of the webhook's event types.

        Args:
            id: ID of the webhook.
            idempotency_key: Header `Idempotency-Key`, to repeat a call in another process; default: a new one
                for each call.
        """
        return self._sender.send(
            lambda payload: Delivery.from_json(payload["data"]),
            "POST",
            path_of("webhooks", id, "test"),
            idempotency_key=idempotency_key,
        )
