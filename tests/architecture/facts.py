"""The contract of the API as data: the tests of this directory check the running application against it.

Only facts, and only here: a test never repeats one, so a change of the contract is a change of this file.
"""

from typing import NamedTuple

PREFIX = "/api"

LINKS_READ, LINKS_WRITE = "links:read", "links:write"
DOMAINS_READ, DOMAINS_WRITE = "domains:read", "domains:write"
PIXELS_READ, PIXELS_WRITE = "pixels:read", "pixels:write"
WEBHOOKS = "webhooks:manage"
SCOPES = (LINKS_READ, LINKS_WRITE, DOMAINS_READ, DOMAINS_WRITE, PIXELS_READ, PIXELS_WRITE, WEBHOOKS)


class Endpoint(NamedTuple):
    method: str
    path: str
    scope: str | None
    """None: any valid key will do."""
    success: int


ENDPOINTS = {
    "account_get": Endpoint("GET", "/v1/me", None, 200),
    "keys_list": Endpoint("GET", "/v1/tokens", None, 200),
    "links_list": Endpoint("GET", "/v1/links", LINKS_READ, 200),
    "links_create": Endpoint("POST", "/v1/links", LINKS_WRITE, 201),
    "links_get": Endpoint("GET", "/v1/links/{id}", LINKS_READ, 200),
    "links_update": Endpoint("PATCH", "/v1/links/{id}", LINKS_WRITE, 200),
    "links_delete": Endpoint("DELETE", "/v1/links/{id}", LINKS_WRITE, 204),
    "clicks_list": Endpoint("GET", "/v1/clicks", LINKS_READ, 200),
    "links_clicks": Endpoint("GET", "/v1/links/{id}/clicks", LINKS_READ, 200),
    "links_stats": Endpoint("GET", "/v1/links/{id}/stats", LINKS_READ, 200),
    "stats_get": Endpoint("GET", "/v1/stats", LINKS_READ, 200),
    "templates_list": Endpoint("GET", "/v1/utm-templates", LINKS_READ, 200),
    "templates_create": Endpoint("POST", "/v1/utm-templates", LINKS_WRITE, 201),
    "templates_get": Endpoint("GET", "/v1/utm-templates/{id}", LINKS_READ, 200),
    "templates_update": Endpoint("PATCH", "/v1/utm-templates/{id}", LINKS_WRITE, 200),
    "templates_delete": Endpoint("DELETE", "/v1/utm-templates/{id}", LINKS_WRITE, 204),
    "shares_list": Endpoint("GET", "/v1/shares", LINKS_READ, 200),
    "shares_create": Endpoint("POST", "/v1/shares", LINKS_WRITE, 201),
    "shares_get": Endpoint("GET", "/v1/shares/{id}", LINKS_READ, 200),
    "shares_update": Endpoint("PATCH", "/v1/shares/{id}", LINKS_WRITE, 200),
    "shares_delete": Endpoint("DELETE", "/v1/shares/{id}", LINKS_WRITE, 204),
    "qrcodes_get": Endpoint("GET", "/v1/links/{id}/qrcode", LINKS_READ, 200),
    "qrcodes_set_style": Endpoint("POST", "/v1/links/{id}/qrcode", LINKS_WRITE, 201),
    "qrcodes_get_logo": Endpoint("GET", "/v1/qrcodes/logo", LINKS_READ, 200),
    "qrcodes_set_logo": Endpoint("PUT", "/v1/qrcodes/logo", LINKS_WRITE, 200),
    "qrcodes_delete_logo": Endpoint("DELETE", "/v1/qrcodes/logo", LINKS_WRITE, 204),
    "domains_get_logo": Endpoint("GET", "/v1/domains/{id}/logo", DOMAINS_READ, 200),
    "domains_set_logo": Endpoint("PUT", "/v1/domains/{id}/logo", DOMAINS_WRITE, 200),
    "domains_delete_logo": Endpoint("DELETE", "/v1/domains/{id}/logo", DOMAINS_WRITE, 204),
    "qrcodes_archive": Endpoint("POST", "/v1/qrcodes/archive", LINKS_READ, 200),
    "qrcodes_sheet": Endpoint("POST", "/v1/qrcodes/sheet", LINKS_READ, 200),
    "tags_list": Endpoint("GET", "/v1/tags", LINKS_READ, 200),
    "tags_create": Endpoint("POST", "/v1/tags", LINKS_WRITE, 201),
    "tags_get": Endpoint("GET", "/v1/tags/{id}", LINKS_READ, 200),
    "tags_update": Endpoint("PATCH", "/v1/tags/{id}", LINKS_WRITE, 200),
    "tags_delete": Endpoint("DELETE", "/v1/tags/{id}", LINKS_WRITE, 204),
    "pixels_list": Endpoint("GET", "/v1/pixels", PIXELS_READ, 200),
    "pixels_create": Endpoint("POST", "/v1/pixels", PIXELS_WRITE, 201),
    "pixels_get": Endpoint("GET", "/v1/pixels/{id}", PIXELS_READ, 200),
    "pixels_update": Endpoint("PATCH", "/v1/pixels/{id}", PIXELS_WRITE, 200),
    "pixels_delete": Endpoint("DELETE", "/v1/pixels/{id}", PIXELS_WRITE, 204),
    "pixels_results": Endpoint("GET", "/v1/pixels/{id}/results", PIXELS_READ, 200),
    "webhooks_list": Endpoint("GET", "/v1/webhooks", WEBHOOKS, 200),
    "webhooks_create": Endpoint("POST", "/v1/webhooks", WEBHOOKS, 201),
    "webhooks_delete": Endpoint("DELETE", "/v1/webhooks/{id}", WEBHOOKS, 204),
    "webhooks_get": Endpoint("GET", "/v1/webhooks/{id}", WEBHOOKS, 200),
    "webhooks_list_deliveries": Endpoint("GET", "/v1/webhooks/{id}/deliveries", WEBHOOKS, 200),
    "webhooks_redeliver": Endpoint("POST", "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver", WEBHOOKS, 202),
    "webhooks_send_test": Endpoint("POST", "/v1/webhooks/{id}/test", WEBHOOKS, 202),
    "domains_list": Endpoint("GET", "/v1/domains", DOMAINS_READ, 200),
    "domains_create": Endpoint("POST", "/v1/domains", DOMAINS_WRITE, 201),
    "domains_get": Endpoint("GET", "/v1/domains/{id}", DOMAINS_READ, 200),
    "domains_update": Endpoint("PATCH", "/v1/domains/{id}", DOMAINS_WRITE, 200),
    "domains_verify": Endpoint("POST", "/v1/domains/{id}/verify", DOMAINS_WRITE, 202),
    "domains_delete": Endpoint("DELETE", "/v1/domains/{id}", DOMAINS_WRITE, 204),
    "links_bulk_create": Endpoint("POST", "/v1/links/bulk", LINKS_WRITE, 200),
    "links_bulk_update": Endpoint("PATCH", "/v1/links/bulk", LINKS_WRITE, 200),
    "links_bulk_delete": Endpoint("DELETE", "/v1/links/bulk", LINKS_WRITE, 200),
    "links_list_aliases": Endpoint("GET", "/v1/links/{id}/aliases", LINKS_READ, 200),
    "links_create_alias": Endpoint("POST", "/v1/links/{id}/aliases", LINKS_WRITE, 201),
    "links_delete_alias": Endpoint("DELETE", "/v1/links/{id}/aliases/{alias_id}", LINKS_WRITE, 204),
    "links_get_routing": Endpoint("GET", "/v1/links/{id}/routing", LINKS_READ, 200),
    "links_get_health": Endpoint("GET", "/v1/links/{id}/health", LINKS_READ, 200),
    "links_set_routing": Endpoint("PUT", "/v1/links/{id}/routing", LINKS_WRITE, 200),
    "links_delete_routing": Endpoint("DELETE", "/v1/links/{id}/routing", LINKS_WRITE, 204),
    "domains_get_app_links": Endpoint("GET", "/v1/domains/{id}/app-links", DOMAINS_READ, 200),
    "domains_set_app_links": Endpoint("PUT", "/v1/domains/{id}/app-links", DOMAINS_WRITE, 200),
    "links_get_options": Endpoint("GET", "/v1/links/{id}/options", LINKS_READ, 200),
    "links_upsert": Endpoint("PUT", "/v1/links/by-external-id/{external_id}", LINKS_WRITE, 201),
    "links_update_options": Endpoint("PATCH", "/v1/links/{id}/options", LINKS_WRITE, 200),
    "domains_list_missed": Endpoint("GET", "/v1/domains/{id}/missed", DOMAINS_READ, 200),
    "domains_get_options": Endpoint("GET", "/v1/domains/{id}/options", DOMAINS_READ, 200),
    "domains_get_appearance": Endpoint("GET", "/v1/domains/{id}/appearance", DOMAINS_READ, 200),
    "domains_update_appearance": Endpoint("PATCH", "/v1/domains/{id}/appearance", DOMAINS_WRITE, 200),
    "domains_update_options": Endpoint("PATCH", "/v1/domains/{id}/options", DOMAINS_WRITE, 200),
}
"""Those the application has, for any key, by the name of their operation: clients name methods after it."""

FILES = {"qrcodes_archive", "qrcodes_sheet"}
"""Operations that make a file, and change nothing."""

SIGNED = Endpoint("GET", "/v1/qrcodes/{id}/image/{format}", None, 200)
"""By its URL's signature, without a key."""

NO_SUCH_VERB = (("PATCH", "/v1/webhooks/{id}"), ("PUT", "/v1/links/{id}"), ("DELETE", "/v1/links"))
"""Verbs that no issue shall add: webhooks are deleted and recreated, links are never replaced nor all deleted."""

# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────

PUBLIC_PAGES = {
    "/login", "/login/code", "/login/passkey/options", "/login/passkey", "/logout", "/setup", "/signup",
    "/invite/{token}", "/invite/account/{token}", "/invite/account/{token}/signup",
    "/forgot", "/reset/{token}", "/confirm/{token}", "/enter/{token}", "/docs", "/help/{name:path}", "/help/search",
    "/share/{token}", "/share/{token}/embed/{signature}",
    "/stats/reports/unsubscribe/{token}",
}  # fmt: skip
"""For everybody."""

PERSONAL_PAGES = {
    "/account", "/account/accounts", "/account/accounts/{id}", "/account/confirm", "/account/email", "/account/name",
    "/account/preferences", "/account/timezone",
    "/account/delete-person", "/invite/account/{token}",
    "/account/password", "/account/passkeys", "/account/passkeys/options", "/account/passkeys/{id}/remove",
    "/account/required", "/account/security", "/account/sessions", "/account/sessions/end-others",
    "/account/sessions/{id}/end", "/account/two-factor", "/account/two-factor/confirm",
    "/account/two-factor/recovery-codes",
    "/account/two-factor/remove", "/account/verify", "/account/verify/passkey", "/account/verify/passkey/options",
}  # fmt: skip
"""For everybody who is signed in, without an account, too. All other pages need a role in one."""

# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

CODES = {
    401: "unauthenticated",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    422: "validation_error",
    429: "rate_limited",
    500: "server_error",
}
OTHER = "http_error"
"""The code of every status that is not in the table."""

MESSAGES = {422: "The given data was invalid.", 429: "Too many requests."}
"""Where the wording is fixed, too."""

KIT_ERRORS = {
    "BadRequest": 400,
    "Unauthenticated": 401,
    "PaymentRequired": 402,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "InProgress": 409,
    "PreconditionFailed": 412,
    "TooLarge": 413,
    "Invalid": 422,
    "RateLimited": 429,
    "Unavailable": 503,
}

BARE = {"UnregistrableName": 406}
"""Responses with a message only, without envelope and code."""

# ── limits ──────────────────────────────────────────────────────────────────────────────────────────────────────────

REQUESTS_PER_MINUTE = 60
DEFAULT_PER_PAGE = 15
MAX_PER_PAGE = 100

SLUG_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

LINK_LIMITS = {
    "destination_url": 2048,
    "slug": 255,
    "title": 255,
    "og_title": 255,
    "og_description": 5000,
    "og_image": 2048,
    "utm_params.utm_source": 255,
    "utm_params.utm_medium": 255,
    "utm_params.utm_campaign": 255,
    "utm_params.utm_term": 255,
    "utm_params.utm_content": 255,
    "tags.0": 255,
}
"""Characters, by the name under which a fault is reported."""

DOMAIN_URL = 2048
"""Characters of `root_url` and of `not_found_url`."""

PIXEL_LIMITS = {"name": 255, "pixel_id": 255}
"""Characters."""

WEBHOOK_URL = 2048
"""Characters."""

IMAGE_BYTES = 2 * 1024 * 1024
IMAGE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
UNTITLED = "Untitled"

# ── shapes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LINK = {
    "id": "uuid",
    "title": "string",
    "destination_url": "string",
    "short_url": "string",
    "slug": "string",
    "hostname": "string",
    "og_title": "string or null",
    "og_description": "string or null",
    "og_image": "string or null",
    "utm_params": "utm object",
    "tags": "strings",
    "expires_at": "timestamp or null",
    "pixel_ids": "uuids",
    "clicks": "integer",
    "status": "status",
    "created_at": "timestamp",
    "updated_at": "timestamp",
}
"""In this order."""

CLICK = {
    "id": "uuid",
    "link_id": "uuid",
    "ip": "string",
    "country": "string",
    "visitor_id": "string",
    "referrer": "string",
    "device": "string",
    "browser": "string",
    "platform": "string",
    "created_at": "timestamp",
    "is_scan": "boolean",
    "kind": "kind",
    "bot": "string or null",
}
"""In this order."""

PIXEL = {"id": "uuid", "platform": "platform", "name": "string", "created_at": "timestamp", "updated_at": "timestamp"}
"""In this order, and nothing else ever."""

DOMAIN = {
    "id": "uuid",
    "hostname": "string",
    "status": "domain status",
    "verified_at": "timestamp or null",
    "last_checked_at": "timestamp or null",
    "error": "string or null",
    "dns_records": "records",
    "root_url": "string or null",
    "not_found_url": "string or null",
    "links_count": "integer",
    "tls": "tls object",
    "created_at": "timestamp",
    "updated_at": "timestamp",
}
"""In this order."""

WEBHOOK = {
    "id": "uuid",
    "url": "string",
    "event_types": "strings",
    "created_at": "timestamp",
    "updated_at": "timestamp",
}
"""In this order; `secret` comes last, and in the answer to the creation only."""

DELIVERY = {
    "id": "any uuid",
    "event": "string",
    "status": "delivery status",
    "attempts": "integer",
    "next_attempt_at": "timestamp or null",
    "response_status": "integer or null",
    "error": "string or null",
    "created_at": "timestamp",
}
"""In this order."""

QRCODE = {
    "id": "uuid",
    "link_id": "uuid",
    "foreground": "string",
    "background": "string",
    "level": "string",
    "style": "string",
    "size": "integer",
    "margin": "integer",
    "width_mm": "integer",
    "logo": "boolean",
    "logo_size": "number",
    "frame": "string",
    "frame_text": "string",
    "warnings": "strings",
    "scans": "integer",
    "image_url": "string",
    "svg_url": "string",
    "pdf_url": "string",
    "created_at": "timestamp",
    "updated_at": "timestamp",
}
"""In this order."""

LEVELS = ("L", "M", "Q", "H")
STYLES = ("squares", "dots", "fluid")
PLATFORMS = ("facebook", "tiktok", "pinterest", "google_ads")
EVENT_TYPES = ("link.created", "link.clicked", "pixel.fired")
DELIVERY_STATUSES = ("pending", "delivered", "failed", "cancelled")
DOMAIN_STATUSES = ("pending", "verifying", "verified", "failed")
TLS_STATUSES = ("none", "pending", "active", "failed")
LINK_STATUSES = ("active", "inactive")
PAGE = ("data", "links", "meta")
PAGE_LINKS = ("first", "last", "prev", "next")
PAGE_META = ("current_page", "from", "last_page", "path", "per_page", "to", "total")

# ── the redirect ────────────────────────────────────────────────────────────────────────────────────────────────────

REDIRECT_STATUS = 302
REDIRECT_HEADERS = {
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer-when-downgrade",
    "x-content-type-options": "nosniff",
    "content-length": "0",
}
"""Beside `location`."""
